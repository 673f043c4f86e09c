#include "relay/expr.h"

#include "ir/span_scope.h"
#include "relay/print_text.h"

namespace tessera::relay {

const Type& checked_type(const Expr& expr) {
  if (!expr->checked_type_)
    throw Error(ValueError) << "the type of this expression is not known yet; run relay.transform.InferType() first:\n"
                            << text_of(expr);
  return expr->checked_type_;
}

TensorType tensor_type(const Expr& expr) {
  const Type& type = checked_type(expr);
  if (!type.as<TensorTypeNode>())
    throw Error(TypeError) << "expected a tensor, got a value of type " << type_text(type);
  return downcast<TensorType>(type);
}

Var make_local(String name, Type type_annotation, Span span) {
  VarNode var;
  var.vid = make(IdNode{.name_hint = std::move(name)});
  var.type_annotation = std::move(type_annotation);
  var.span = std::move(span);
  return make(std::move(var));
}

Expr make_call(Expr op, Array<Expr> args, Attrs attrs, Array<Type> type_args, Span span) {
  Call call;
  call.op = std::move(op);
  call.args = std::move(args);
  call.attrs = std::move(attrs);
  call.type_args = std::move(type_args);
  call.span = span ? std::move(span) : current_span();
  return make(std::move(call));
}

Expr call_op(std::string_view name, Array<Expr> args, Attrs attrs) {
  return make_call(Op::get(name), std::move(args), std::move(attrs));
}

const Call* as_call_of(const Expr& expr, const Op& op) {
  auto* call = expr.as<Call>();
  return call && call->op.same_as(op) ? call : nullptr;
}

Function make_function(Array<Var> params, Expr body, Type ret_type, Array<TypeVar> type_params, DictAttrs attrs,
                       Span span) {
  FunctionNode function;
  function.params = std::move(params);
  function.body = std::move(body);
  function.ret_type = std::move(ret_type);
  function.type_params = std::move(type_params);
  function.attrs = std::move(attrs);
  function.span = std::move(span);
  return make(std::move(function));
}

}  // namespace tessera::relay
