#include "tir/function.h"

namespace tessera {

PrimFunc make_prim_func(Array<Var> params, Stmt body, Map<Var, Buffer> buffer_map, DictAttrs attrs) {
  PrimFuncNode node;
  node.params = std::move(params);
  node.body = std::move(body);
  node.ret_type = void_type();
  node.buffer_map = std::move(buffer_map);
  node.attrs = std::move(attrs);
  return make(std::move(node));
}

PrimFunc with_attr(const PrimFunc& function, const String& key, ObjectRef value) {
  PrimFuncNode copy(*function.get());
  copy.attrs = function->attrs.with(key, std::move(value));
  return make(std::move(copy));
}

IRModule map_functions(const IRModule& mod, const std::function<PrimFunc(const PrimFunc&)>& change) {
  IRModule out = mod.copy();
  for (const auto& [var, function] : mod->functions) {
    PrimFunc program = downcast_or_null<PrimFunc>(function);
    if (!program) continue;
    PrimFunc changed = change(program);
    if (!changed) {
      out.remove(var);
    } else if (!changed.same_as(program)) {
      out.update(var, changed);
    }
  }
  return out;
}

IRModule map_bodies(const IRModule& mod, const std::function<Stmt(const Stmt&)>& change) {
  return map_functions(mod, [&](const PrimFunc& function) { return with_body(function, change(function->body)); });
}

}  // namespace tessera
