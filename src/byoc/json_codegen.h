#pragma once
// A Relay function as a graph in v0.10's JSON form (runtime/external/json_graph.h).

#include <string>
#include <vector>

#include "base/array.h"
#include "base/map.h"
#include "relay/expr.h"

namespace tessera::byoc {

/// A composite function as one node: its name in the graph, and attributes beyond those of the operators in it.
using CompositeAttrs = Map<String, Array<String>> (*)(const relay::FunctionNode* composite);

struct JsonCode {
  std::string symbol, json;
  Array<String> const_names;  // <symbol>_const_0, ..., in order of the graph's constants
  Map<String, NDArray> constants;
};

/// Calls of operators and of composite functions become nodes, tuples are opened, constants are named. `more` is asked for further
/// attributes of composite functions, if given.
JsonCode json_of(const relay::Function& function, CompositeAttrs more = nullptr);

}  // namespace tessera::byoc
