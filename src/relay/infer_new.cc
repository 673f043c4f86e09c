#include "relay/infer_new.h"

#include "base/stack.h"
#include "relay/inspect.h"
#include "relay/type_rule.h"

namespace tessera::relay {
namespace {

class OneCall final : public TypeQuery {
 public:
  using TypeQuery::TypeQuery;
  void result(const Type& type) override { out = type; }
  void argument(int, const Type&) override {}
  Type out;
};

Type type_of_call(const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (!op) {
    auto* type = checked_type(typed(call->op)).as<FuncType>();
    ICHECK(type) << "a call of something that is no function";
    return type->ret_type;
  }
  auto* slot = cast_or_null<TypeRuleSlot>(Op(op).slot(kTypeRule).object());
  if (!slot) throw Error(TypeError) << "the operator " << op->name << " has no type rule";
  std::vector<Type> args;
  for (const Expr& arg : call->args) args.push_back(checked_type(typed(arg)));
  OneCall query(std::move(args), call->attrs);
  if (!slot->rule(query) || !query.out)
    throw Error(TypeError) << "the type of a call of " << op->name << " does not follow from its arguments";
  return query.out;
}

Type type_of(const Expr& expr) {
  if (auto* call = expr.as<Call>()) return type_of_call(call);
  if (auto* constant = expr.as<Constant>()) {
    std::vector<int64_t> shape(constant->data.shape().begin(), constant->data.shape().end());
    return TensorType(int_array(shape), constant->data.dtype());
  }
  if (auto* tuple = expr.as<Tuple>()) {
    TupleType type;
    for (const Expr& field : tuple->fields_) type.fields_.push_back(checked_type(typed(field)));
    return make(std::move(type));
  }
  if (auto* get = expr.as<TupleGetItem>()) {
    auto* type = checked_type(typed(get->tuple)).as<TupleType>();
    ICHECK(type) << "a field of something that is no tuple";
    return type->fields_[static_cast<size_t>(get->index)];
  }
  if (auto* var = expr.as<VarNode>()) return var->type_annotation;
  return nullptr;
}

}  // namespace

Expr typed(const Expr& expr) {
  if (!expr->checked_type_) expr->checked_type_ = on_enough_stack([&] { return type_of(expr); });
  return expr;
}

}  // namespace tessera::relay
