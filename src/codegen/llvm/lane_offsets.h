#pragma once
// How far apart the lanes of an index are, where that is known when the program is compiled.

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/prim/expr.h"

namespace tessera::codegen {

/// Lane i of an index is `base + offsets[i]`.
struct LaneOffsets {
  PrimExpr base;
  std::vector<int64_t> offsets;
};

/// Variables whose lanes are known that far.
using KnownLanes = std::unordered_map<const VarNode*, LaneOffsets>;

/// Nothing where a lane's distance from the others is not a known number.
std::optional<LaneOffsets> lane_offsets(const PrimExpr& index, const KnownLanes& known);

}  // namespace tessera::codegen
