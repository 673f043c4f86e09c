#include "ir/prim/ops.h"
#include "op/nn/gradients.h"
#include "op/rules.h"
#include "relay/attrs/index.h"
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

/// Of the predictions only those of the right classes count, each with its weight. A mean is divided by the weights too.
Array<Expr> nll_loss_gradient(const Expr& call, const Expr& grad) {
  const Expr &predictions = args_of(call)[0], &targets = args_of(call)[1], &weights = args_of(call)[2];
  auto* attrs = call_attrs<NLLLossAttrs>(call);
  auto *type = tensor_type(predictions), *classes = tensor_type(weights);
  const size_t rank = type->shape.size();
  const int axis = rank == 1 ? 0 : 1;
  const int64_t* depth = as_int(classes->shape[0]);
  if (!depth) throw Error(NotImplementedError) << "nll_loss over an unknown number of classes has no gradient";
  Expr right = call_op("one_hot", {targets, number_like(1, predictions), number_like(0, predictions)},
                       make_attrs<OneHotAttrs>([&](auto& a) {
                         a.depth = static_cast<int>(*depth);
                         a.axis = axis;
                         a.dtype = type->dtype;
                       }));
  Expr ignored = equal(targets, make_scalar(attrs->ignore_index, tensor_type(targets)->dtype));
  right = where(expand_dims(ignored, axis), zeros_like(right), right);
  Expr weighted = multiply(right, along_axis(weights, axis, rank)), value = predictions, share = negative(grad);
  if (attrs->reduction == "none") {
    share = expand_dims(share, axis);
  } else if (attrs->reduction == "mean") {
    share = divide(share, sum(weighted));
    value = add(predictions, call);  // the loss is minus a quotient of sums: more weight also makes it smaller
  }
  Expr of_weights = sum(multiply(multiply(right, value), share), {PrimExpr(axis)}, false, true);
  return {multiply(weighted, share), zeros_like(targets), of_weights};
}

}  // namespace tessera::op
