#include "op/gradient/expansion.h"

#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/gradient/gradient.h"
#include "relay/walk.h"

namespace tessera::op {

using namespace relay;

Exprs expanded_gradient(const relay::Call* call, const Expr& grad, const Expansion& expand) {
  return expanded_gradient(call, grad, {}, expand);
}

/// The gradient of expansion * g, for a parameter g, is the one wanted: its own starts from ones.
Exprs expanded_gradient(const relay::Call* call, const Expr& grad, const std::vector<Given>& given,
                        const Expansion& expand) {
  Array<relay::Var> params;
  Exprs vars, values;
  auto param = [&](const Type& type, const Expr& value) {
    params.push_back(make_local("x" + std::to_string(params.size()), type));
    values.push_back(value);
    return params.back();
  };
  for (const Expr& arg : call->args) vars.push_back(param(checked_type(arg), arg));
  for (const auto& [value, type] : given) vars.push_back(param(type, value));
  Expr value = expand(vars);
  value = multiply(value, param(checked_type(Expr(call)), grad));
  Function backward = first_order_gradient(make_function(params, value), IRModule());
  Map<relay::Var, Expr> by_param;
  for (size_t i = 0; i < values.size(); ++i) by_param.set(backward->params[i], values[i]);
  Expr both = to_graph_normal_form(bind(backward->body, by_param));
  Exprs out;
  const Expr& gradients = both.as<relay::Tuple>()->fields_[1];
  for (size_t i = 0; i < call->args.size(); ++i) out.push_back(gradients.as<relay::Tuple>()->fields_[i]);
  return out;
}

Expr counted(int64_t count, DataType dtype) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  return dtype.is_int() ? make_ints(numbers, dtype) : cast(make_ints(numbers), dtype);
}

Expr taken(const Expr& x, const Expr& numbers, int axis) {
  return call_op("take", {x, numbers}, make_attrs<TakeAttrs>([&](auto& a) { a.axis = PrimExpr(axis); }));
}

Expr column(const Expr& rows, int i) { return taken(rows, make_ints({i}), 1); }

Expr batch_matmul(const Expr& a, const Expr& b, bool transpose_a, bool transpose_b) {
  return call_op("nn.batch_matmul", {a, b}, make_attrs<BatchMatmulAttrs>([&](auto& attrs) {
                   attrs.transpose_a = transpose_a;
                   attrs.transpose_b = transpose_b;
                 }));
}

Expr in_layout(const Expr& x, const String& from, const String& to) {
  return from == to ? x : layout_transform(x, from, to);
}

Expr both_as_number(const Expr& a, const Expr& b, DataType dtype) {
  return cast(call_op("logical_and", {a, b}), dtype);
}

}  // namespace tessera::op
