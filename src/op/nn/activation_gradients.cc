#include "ir/prim_ops.h"
#include "op/nn/gradients.h"
#include "op/rules.h"
#include "relay/attrs/nn.h"
#include "relay/make.h"

namespace tessera::op {

using namespace relay;

const Array<Expr>& args_of(const Expr& call) { return call.as<relay::Call>()->args; }

const TensorTypeNode* tensor_type(const Expr& expr) {
  auto* out = checked_type(expr).as<TensorTypeNode>();
  ICHECK(out) << "a tensor is differentiated";
  return out;
}

Expr number_like(double value, const Expr& like) { return make_scalar(value, tensor_type(like)->dtype); }

Expr along_axis(const Expr& vector, int axis, size_t rank) {
  auto behind = static_cast<int>(rank) - 1 - axis;
  return behind == 0 ? vector : expand_dims(vector, 1, behind);
}

namespace {

PrimExpr axis_of(int axis, const Expr& x) {
  return PrimExpr(normal_axis(axis, static_cast<int>(tensor_type(x)->shape.size())));
}

/// How many samples a batch has, as a number of the data's type.
Expr batch_of(const Expr& x) {
  const int64_t* batch = as_int(tensor_type(x)->shape[0]);
  if (!batch) throw Error(NotImplementedError) << "a mean over a batch of unknown size has no gradient";
  return number_like(static_cast<double>(*batch), x);
}

}  // namespace

Array<Expr> relu_gradient(const Expr& call, const Expr& grad) {
  const Expr& x = args_of(call)[0];
  return {where(less(x, zeros_like(x)), zeros_like(x), grad)};
}

Array<Expr> leaky_relu_gradient(const Expr& call, const Expr& grad) {
  const Expr& x = args_of(call)[0];
  Expr alpha = number_like(call_attrs<LeakyReluAttrs>(call)->alpha, x);
  return {where(greater(x, zeros_like(x)), grad, multiply(grad, alpha))};
}

Array<Expr> prelu_gradient(const Expr& call, const Expr& grad) {
  const Expr &x = args_of(call)[0], &alpha = args_of(call)[1];
  PrimExpr axis = axis_of(call_attrs<PReluAttrs>(call)->axis, x);
  Expr slopes = along_axis(alpha, static_cast<int>(*as_int(axis)), tensor_type(x)->shape.size());
  Expr is_positive = greater(x, zeros_like(x));
  Expr by_alpha = where(is_positive, zeros_like(x), multiply(grad, x));
  return {where(is_positive, grad, multiply(grad, slopes)), sum(by_alpha, {axis}, false, true)};
}

Array<Expr> bias_add_gradient(const Expr& call, const Expr& grad) {
  PrimExpr axis = axis_of(call_attrs<BiasAddAttrs>(call)->axis, args_of(call)[0]);
  return {grad, sum(grad, {axis}, false, true)};
}

Array<Expr> batch_flatten_gradient(const Expr& call, const Expr& grad) {
  return {reshape_like(grad, args_of(call)[0])};
}

Array<Expr> softmax_gradient(const Expr& call, const Expr& grad) {
  PrimExpr axis = axis_of(call_attrs<SoftmaxAttrs>(call)->axis, args_of(call)[0]);
  return {multiply(subtract(grad, sum(multiply(grad, call), {axis}, true)), call)};
}

Array<Expr> log_softmax_gradient(const Expr& call, const Expr& grad) {
  PrimExpr axis = axis_of(call_attrs<SoftmaxAttrs>(call)->axis, args_of(call)[0]);
  return {subtract(grad, multiply(sum(grad, {axis}, true), exp(call)))};
}

Array<Expr> cross_entropy_gradient(const Expr& call, const Expr& grad) {
  const Expr &x = args_of(call)[0], &y = args_of(call)[1];
  Expr share = negative(divide(grad, batch_of(x)));
  return {multiply(share, divide(y, x)), multiply(share, log(x))};
}

Array<Expr> cross_entropy_with_logits_gradient(const Expr& call, const Expr& grad) {
  const Expr &x = args_of(call)[0], &y = args_of(call)[1];
  Expr share = negative(divide(grad, batch_of(x)));
  return {multiply(share, y), multiply(share, x)};
}

}  // namespace tessera::op
