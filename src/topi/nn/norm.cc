#include "topi/nn/norm.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/broadcast.h"
#include "topi/elementwise.h"
#include "topi/nn/pad.h"
#include "topi/reduction.h"
#include "topi/transform.h"

namespace tessera::topi {
namespace {

using BinaryBody = PrimExpr (*)(PrimExpr, PrimExpr);

te::Tensor apply(const Operand& a, const Operand& b, BinaryBody body, const char* name) {
  return std::get<te::Tensor>(broadcast(a, b, body, name));
}
te::Tensor add(const Operand& a, const Operand& b) {
  return apply(a, b, [](PrimExpr x, PrimExpr y) { return x + y; }, "T_add");
}
te::Tensor subtract(const Operand& a, const Operand& b) {
  return apply(a, b, [](PrimExpr x, PrimExpr y) { return x - y; }, "T_subtract");
}
te::Tensor multiply(const Operand& a, const Operand& b) {
  return apply(a, b, [](PrimExpr x, PrimExpr y) { return x * y; }, "T_multiply");
}
te::Tensor divide(const Operand& a, const Operand& b) {
  return apply(a, b, [](PrimExpr x, PrimExpr y) { return div(x, y); }, "T_divide");
}
te::Tensor sqrt(const te::Tensor& x) {
  return elementwise(x, [](PrimExpr e) { return unary_intrin("tir.sqrt", e); });
}

/// A vector as a tensor of `rank` dimensions that runs along `axis`.
te::Tensor along(const te::Tensor& vector, int axis, size_t rank) {
  Array<PrimExpr> shape(rank, PrimExpr(1));
  shape.set(static_cast<size_t>(axis), vector->shape[0]);
  return reshape(vector, shape);
}

te::Tensor scale_and_shift(te::Tensor x, const Affine& affine) {
  size_t rank = x->shape.size();
  if (affine.gamma) x = multiply(x, along(affine.gamma, affine.axis, rank));
  if (affine.beta) x = add(x, along(affine.beta, affine.axis, rank));
  return x;
}

te::Tensor mean_over(const te::Tensor& x, const std::vector<int>& axes) {
  PrimExpr count(1);
  for (int axis : axes) count = count * x->shape[static_cast<size_t>(axis)];
  ReduceOptions options{.axes = {axes.begin(), axes.end()}, .all_axes = false, .keepdims = true};
  return divide(sum(x, options), tessera::cast(x->dtype, count));
}

/// x less its mean over `axes`, over its deviation.
te::Tensor whiten(const te::Tensor& x, const std::vector<int>& axes, double epsilon) {
  te::Tensor centred = subtract(x, mean_over(x, axes));
  te::Tensor variance = mean_over(multiply(centred, centred), axes);
  return divide(centred, sqrt(add(variance, make_const(x->dtype, epsilon))));
}

}  // namespace

Array<te::Tensor> batch_norm(const te::Tensor& x, const te::Tensor& mean, const te::Tensor& variance, double epsilon,
                             const Affine& affine) {
  size_t rank = x->shape.size();
  te::Tensor centred = subtract(x, along(mean, affine.axis, rank));
  te::Tensor deviation = sqrt(add(along(variance, affine.axis, rank), make_const(x->dtype, epsilon)));
  te::Tensor out = scale_and_shift(divide(centred, deviation), affine);
  PrimExpr one = make_const(mean->dtype, 1);
  return {out, multiply(mean, one), multiply(variance, one)};
}

te::Tensor normalize(const te::Tensor& x, const std::vector<int>& axes, double epsilon, const Affine& affine) {
  return scale_and_shift(whiten(x, axes, epsilon), affine);
}

te::Tensor group_norm(const te::Tensor& x, int groups, double epsilon, const Affine& affine) {
  Array<PrimExpr> shape = x->shape;
  auto axis = static_cast<size_t>(affine.axis);
  shape.set(axis, floordiv(shape[axis], groups));
  shape.insert(axis, PrimExpr(groups));
  std::vector<int> axes;
  for (size_t i = axis + 1; i < shape.size(); ++i) axes.push_back(static_cast<int>(i));
  return scale_and_shift(reshape(whiten(reshape(x, shape), axes, epsilon), x->shape), affine);
}

te::Tensor l2_normalize(const te::Tensor& x, const std::vector<int>& axes, double eps) {
  ReduceOptions options{.axes = {axes.begin(), axes.end()}, .all_axes = false, .keepdims = true};
  te::Tensor length = sum(multiply(x, x), options);
  PrimExpr least = make_const(x->dtype, eps);
  length = elementwise(length, [&](PrimExpr e) { return max(e, least); });
  return divide(x, sqrt(length));
}

te::Tensor lrn(const te::Tensor& x, const LrnOptions& options) {
  auto axis = static_cast<size_t>(options.axis);
  Array<PrimExpr> border(x->shape.size(), PrimExpr(0));
  border.set(axis, PrimExpr(options.size / 2));
  te::Tensor padded = pad(x, border, border, make_zero(x->dtype), "pad_data", "ax");
  IterVar step = te::reduce_axis(make_range(0, options.size), "rxs");
  te::Tensor squares = compute(
      x->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> neighbour = at;
        neighbour.set(axis, at[axis] + step->var);
        return te::sum(te::load(padded, neighbour) * te::load(padded, neighbour), {step});
      },
      "tensor", "");
  auto number = [&](double value) { return make_const(x->dtype, value); };
  te::Tensor root = compute(
      x->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        PrimExpr mean = div(number(options.alpha) * te::load(squares, at), number(options.size));
        return pow(number(options.bias) + mean, number(options.beta));
      },
      "tensor", "");
  return divide(x, root);
}

}  // namespace tessera::topi
