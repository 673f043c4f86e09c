#pragma once
// From an optimised module to a graph of kernel calls.

#include "driver/executor/kernels.h"
#include "runtime/ndarray.h"

namespace tessera::relay {

struct GraphProgram {
  std::string json;             // what the graph executor reads
  Map<String, NDArray> params;  // constants of the model, under the names of the graph's inputs
  IRModule kernels;             // scheduled loop programs
};

/// The graph of a fused, first-order function: calls of primitive functions, tuples, constants and parameters, in graph
/// or let form. Anything that needs a decision at run time (control flow, closures, data types) is an error that
/// says to use the virtual machine.
GraphProgram compile_graph(const Function& main, const Target& target, const std::string& model_name);

}  // namespace tessera::relay
