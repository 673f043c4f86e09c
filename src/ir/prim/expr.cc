#include "ir/prim/expr.h"

namespace tessera {
namespace {

template <class Node>
Var new_var(String name, DataType dtype, Type type) {
  Node node;
  node.dtype = dtype;
  node.name = std::move(name);
  node.type_annotation = std::move(type);
  return make(std::move(node));
}

}  // namespace

Var make_var(String name, DataType dtype) { return new_var<VarNode>(std::move(name), dtype, prim_type(dtype)); }

Var make_var(String name, Type type) {
  DataType dtype = runtime_dtype(type);
  return new_var<VarNode>(std::move(name), dtype, std::move(type));
}

Var make_size_var(String name, DataType dtype) {
  return new_var<SizeVarNode>(std::move(name), dtype, prim_type(dtype));
}

bool is_call(const Call* call, std::string_view name) {
  auto* op = call ? call->op.as<OpNode>() : nullptr;
  return op && std::string_view(op->name) == name;
}

bool is_call(const PrimExpr& e, std::string_view name) { return is_call(e.as<Call>(), name); }

PrimExpr make_call(DataType dtype, std::string_view op, Array<PrimExpr> args) {
  Call call;
  call.dtype = dtype;
  call.op = Op::get(op);
  call.args = std::move(args);
  return make(std::move(call));
}

}  // namespace tessera
