#pragma once
// A loop program with parameters.

#include "ir/module.h"
#include "tir/stmt.h"

namespace tessera {

/// `buffer_map` says which parameters are tensors and how the body sees them; after flattening it holds the flat
/// views and `preflattened_buffer_map` the shapes that callers pass.
struct PrimFuncNode : BaseFuncNode {
  Array<Var> params;
  Type ret_type;
  Map<Var, Buffer> buffer_map, preflattened_buffer_map;
  Stmt body;
  static constexpr NodeInfo info{"tir.PrimFunc", &BaseFuncNode::info};
  static void fields(auto f) {
    f("params", &PrimFuncNode::params, Binds);
    f("preflattened_buffer_map", &PrimFuncNode::preflattened_buffer_map, Binds | Opaque);
    f("buffer_map", &PrimFuncNode::buffer_map, Binds | Opaque);
    f("ret_type", &PrimFuncNode::ret_type, Opaque);
    f("body", &PrimFuncNode::body);
  }
};
using PrimFunc = Ref<PrimFuncNode>;

PrimFunc make_prim_func(Array<Var> params, Stmt body, Map<Var, Buffer> buffer_map = {}, DictAttrs attrs = DictAttrs());
PrimFunc with_attr(const PrimFunc& function, const String& key, ObjectRef value);
inline PrimFunc with_body(const PrimFunc& function, Stmt body) {
  return with(function, &PrimFuncNode::body, std::move(body));
}

/// Applies `change` to every PrimFunc of the module; other functions stay. The module given is not changed.
IRModule map_functions(const IRModule& mod, const std::function<PrimFunc(const PrimFunc&)>& change);
IRModule map_bodies(const IRModule& mod, const std::function<Stmt(const Stmt&)>& change);

}  // namespace tessera
