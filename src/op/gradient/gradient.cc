#include "op/gradient/gradient.h"

#include "relay/slots.h"
#include "runtime/packed_func.h"

namespace tessera::op {

void set_gradients(std::initializer_list<GradientRow> rows) {
  for (const GradientRow& row : rows) {
    Gradient gradient = [f = row.gradient](const Expr& call, const Expr& grad) {
      return f(call.as<relay::Call>(), grad);
    };
    Op::get(row.name).set(relay::kGradient, Any(typed("gradient", std::move(gradient))));
  }
}

const TensorTypeNode* arg_type(const relay::Call* call, size_t i) {
  auto* type = relay::checked_type(call->args[i]).as<TensorTypeNode>();
  if (!type) throw Error(TypeError) << "the gradient of an operator needs the type of argument " << i << " as a tensor";
  return type;
}

int64_t known_extent(const TensorTypeNode* type, size_t dimension) {
  const int64_t* extent = as_int(type->shape[dimension]);
  if (!extent)
    throw Error(NotImplementedError) << "a gradient needs extent " << dimension << " of a tensor of shape "
                                     << to_text(type->shape) << " as a number";
  return *extent;
}

Expr scalar_like(const relay::Call* call, size_t i, double value) {
  return relay::make_scalar(value, arg_type(call, i)->dtype);
}

Exprs zero_gradients(const relay::Call* call, const Expr&) {
  Exprs out;
  for (const Expr& arg : call->args) out.push_back(relay::zeros_like(arg));
  return out;
}

Expr summed_to_scalar(const Expr& grad) { return relay::sum(grad); }

}  // namespace tessera::op
