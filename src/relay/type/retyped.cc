#include "relay/type/retyped.h"

#include <unordered_map>

#include "ir/rewrite.h"

namespace tessera::relay {

Type map_extents(const Type& type, const std::function<PrimExpr(const PrimExpr&)>& change) {
  if (auto* tensor = type.as<TensorTypeNode>()) {
    Array<PrimExpr> shape;
    for (const PrimExpr& extent : tensor->shape) shape.push_back(change(extent));
    return TensorType(shape, tensor->dtype);
  }
  auto* tuple = type.as<TupleType>();
  if (!tuple) throw Error(TypeError) << "a kernel cannot take a value of type " << to_text(type);
  TupleType out;
  for (const Type& field : tuple->fields_) out.fields_.push_back(map_extents(field, change));
  return make(std::move(out));
}

Function retyped(const Function& function, const std::vector<Type>& types) {
  FunctionNode out(*function.get());
  std::unordered_map<const Object*, Expr> by;
  out.params = {};
  for (size_t i = 0; i < types.size(); ++i) {
    Var param = make_local(function->params[i]->name_hint(), types[i]);
    param->checked_type_ = types[i];
    param->virtual_device_ = function->params[i]->virtual_device_;
    out.params.push_back(param);
    by[function->params[i].get()] = param;
  }
  out.body = tessera::rewrite(function->body, [&](const VarNode* var) -> Expr {
    auto it = by.find(var);
    return it == by.end() ? Expr(var) : it->second;
  });
  out.ret_type = nullptr;
  out.checked_type_ = nullptr;
  return make(std::move(out));
}

}  // namespace tessera::relay
