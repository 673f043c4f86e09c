#include "tir/transform/pass.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

IRModule change_functions(const IRModule& mod, const PrimFuncChange& change, const PassContext& context) {
  return map_functions(mod, [&](const PrimFunc& function) { return change(function, mod, context); });
}

/// A pass from Python's f(func, mod, ctx).
Pass prim_func_pass_of(PackedFunc change, PassInfo info) {
  return prim_func_pass(std::move(info),
                        [change](const PrimFunc& function, const IRModule& mod, const PassContext& context) {
                          return change(function, mod, context).to<PrimFunc>();
                        });
}

static register_types<PrimFuncPassNode> pass_types;
static Globals pass_globals{{"tir.transform.CreatePrimFuncPass", prim_func_pass_of}};

}  // namespace

Pass prim_func_pass(PassInfo info, PrimFuncChange change) {
  PrimFuncPassNode node;
  node.pass_info = std::move(info);
  node.run = [change = std::move(change)](IRModule mod, const PassContext& context) {
    return change_functions(mod, change, context);
  };
  return Ref<PassNode>(make(std::move(node)));
}

}  // namespace tessera
