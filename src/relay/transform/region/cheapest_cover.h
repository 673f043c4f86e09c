#pragma once
// The parts into which a graph is divided at least cost, of those that toolchains offer.

#include <functional>
#include <vector>

#include "relay/transform/region/index_set.h"

namespace tessera::relay {

/// Nodes that one toolchain could compute together.
struct CoverPart {
  IndexSet members;
  IndexSet before;  // the nodes that must be computed before it: its inputs and all that they need
};

/// Indices of parts that hold each of the nodes 0 ... count - 1 once, need each other in no circle, and cost least
/// together; of those that cost the same, as few as possible. Empty where there are none. Nodes are in order of evaluation.
/// `cost` is asked once for each part that a cheap division could contain; an infinite one rules it out.
///
/// Dijkstra's search over the sets of nodes that are covered so far. The next part is one that contains the first node
/// that is not; one that needs nodes which are not covered yet stays open, and is part of the state, until they are.
std::vector<size_t> cheapest_cover(const std::vector<CoverPart>& parts, size_t count,
                                   const std::function<double(size_t)>& cost);

}  // namespace tessera::relay
