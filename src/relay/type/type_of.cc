#include "relay/type/type_of.h"

#include "arith/analyzer.h"
#include "base/stack.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/print_text.h"
#include "relay/type/infer_type.h"
#include "relay/type/inference.h"
#include "relay/type/rule.h"

namespace tessera::relay {
namespace {

class DirectQuery final : public TypeQuery {
 public:
  using TypeQuery::TypeQuery;
  void result(const Type& type) override { out = type; }
  void argument(int, const Type&) override {}  // all are known
  Type out;
};

/// Extents of a result are expressions over those of the arguments; they do not grow from call to call.
Type with_simple_extents(const Type& type) {
  if (auto* tuple = type.as<TupleType>()) {
    Array<Type> fields = tuple->fields_;
    for (size_t i = 0; i < fields.size(); ++i) fields.set(i, with_simple_extents(fields[i]));
    return with(tuple, &TupleType::fields_, fields);
  }
  auto* tensor = type.as<TensorTypeNode>();
  if (!tensor) return type;
  Array<PrimExpr> shape = tensor->shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (as_int(shape[i]) || is_any(shape[i]) || shape[i].as<tessera::VarNode>()) continue;
    shape.set(i, arith::Analyzer().simplify(shape[i]));
  }
  return with(tensor, &TensorTypeNode::shape, shape);
}

Type call_type(const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (!op) {
    auto* function = typed(call->op)->checked_type_.as<FuncType>();
    if (function && function->type_params.empty()) return function->ret_type;
  }
  auto* slot = op ? cast_or_null<TypeRuleSlot>(Op(op).slot(kTypeRule).object()) : nullptr;
  if (!slot) return infer_type(Expr(call))->checked_type_;
  if (std::string fault = wrong_number_of_arguments(Op(op), call->args.size()); !fault.empty())
    throw Error(TypeError) << fault;
  std::vector<Type> args;
  std::string described;
  for (const Expr& arg : call->args) {
    args.push_back(type_of(arg));
    described += (described.empty() ? "" : ", ") + type_text(args.back());
  }
  DirectQuery query(std::move(args), call->attrs);
  try {
    if (slot->rule(query) && query.out) return with_simple_extents(valid_type(query.out));
  } catch (Error& error) {
    throw Error(TypeError) << std::string(op->name) << "(" << described << "): " << error.message();
  }
  throw Error(TypeError) << "the type of " << std::string(op->name) << "(" << described << ") does not follow";
}

Type compute(const Expr& expr) {
  if (auto* call = expr.as<Call>()) return call_type(call);
  if (auto* var = expr.as<VarNode>(); var && var->type_annotation) return valid_type(var->type_annotation);
  if (auto* constant = expr.as<Constant>()) {
    auto shape = constant->data.shape();
    return TensorType(int_array({shape.begin(), shape.end()}), constant->data.dtype());
  }
  if (auto* tuple = expr.as<Tuple>()) {
    TupleType type;
    for (const Expr& field : tuple->fields_) type.fields_.push_back(type_of(field));
    return make(std::move(type));
  }
  if (auto* get = expr.as<TupleGetItem>()) {
    Type type = type_of(get->tuple);
    auto* fields = type.as<TupleType>();
    if (!fields || get->index < 0 || static_cast<size_t>(get->index) >= fields->fields_.size())
      throw Error(TypeError) << "there is no field " << get->index << " in a value of type " << type_text(type);
    return fields->fields_[get->index];
  }
  return infer_type(expr)->checked_type_;
}

}  // namespace

Type type_of(const Expr& expr) {
  if (!expr->checked_type_) expr->checked_type_ = on_enough_stack([&] { return compute(expr); });
  return expr->checked_type_;
}

Expr typed(const Expr& expr) {
  auto* var = expr.as<VarNode>();
  bool is_plain = expr.as<Call>() || expr.as<Constant>() || expr.as<Tuple>() || expr.as<TupleGetItem>();
  if (is_plain || (var && var->type_annotation)) type_of(expr);
  return expr;
}

}  // namespace tessera::relay
