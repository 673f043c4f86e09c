#pragma once
// What is known of the functions of a compiled graph: sizes, and the programs they were made from.

#include "driver/executor/graph_codegen.h"

namespace tessera::relay {

/// One function of a compiled model, by the targets it was compiled for. Sizes are bytes: of what is allocated while
/// it runs, of arguments and results, of constants inside it.
struct FunctionInfoNode : Object {
  Map<Target, ObjectRef> workspace_sizes, io_sizes, constant_sizes;
  Map<Target, PrimFunc> tir_primfuncs;
  Map<Target, Function> relay_primfuncs;
  static constexpr NodeInfo info{"relay.backend.FunctionInfo", &Object::info};
  static void fields(auto f) {
    f("workspace_sizes", &FunctionInfoNode::workspace_sizes);
    f("io_sizes", &FunctionInfoNode::io_sizes);
    f("constant_sizes", &FunctionInfoNode::constant_sizes);
    f("tir_primfuncs", &FunctionInfoNode::tir_primfuncs);
    f("relay_primfuncs", &FunctionInfoNode::relay_primfuncs);
  }
};
using FunctionInfo = Ref<FunctionInfoNode>;

/// The kernels of a graph by name, and the whole as "__tvm_main__". `lowered` are the programs of its kernels by target.
Map<String, FunctionInfo> function_infos(const GraphProgram& graph, const Function& main,
                                         const Map<Target, IRModule>& lowered);

}  // namespace tessera::relay
