#pragma once
// From the nodes of a graph to primitives of oneDNN.

#include "runtime/external/dnnl/program.h"

#ifdef TESSERA_HAS_DNNL
#include "runtime/external/json_graph.h"
#include "runtime/ndarray.h"

namespace tessera::dnnl {

/// The program that computes the graph. Composite nodes are called "dnnl.<operator>[_bias][_sum][_<activation>]", and say with the
/// attributes "input_data", "input_weight", "input_bias" and "input_sum" which of their inputs is what; those of int8 are called
/// "dnnl.qnn.<operator>[_sum]" and have constants besides ("input_scale" and the like, byoc/dnnl/codegen.cc). A node that the library cannot run is an error.
Program program_of(const JsonGraph& graph, const std::vector<NDArray>& constants);

}  // namespace tessera::dnnl
#endif
