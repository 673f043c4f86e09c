#include "ir/prim/ops.h"
#include "op/nn/gradients.h"
#include "op/rules.h"
#include "relay/attrs/norm.h"
#include "relay/attrs/pool.h"
#include "relay/make.h"

namespace tessera::op {

using namespace relay;

namespace {

Array<PrimExpr> as_axes(const std::vector<int>& axes) {
  Array<PrimExpr> out;
  for (int axis : axes) out.push_back(PrimExpr(axis));
  return out;
}

/// What both forms of a normalisation have: its axis, and the data normalised, before scale and offset.
struct Normalised {
  int axis;
  Expr white;      // the data normalised
  Expr deviation;  // what it was divided by
  Expr by_white;   // the gradient of `white`
};

/// The gradients of gamma and beta; zeros where the operator does not use them.
Array<Expr> affine_gradients(const NormAttrs* attrs, const Array<Expr>& args, const Normalised& n, const Expr& grad) {
  Array<PrimExpr> axis{PrimExpr(n.axis)};
  return {attrs->scale ? sum(multiply(grad, n.white), axis, false, true) : zeros_like(args[1]),
          attrs->center ? sum(grad, axis, false, true) : zeros_like(args[2])};
}

Expr scaled(const NormAttrs* attrs, const Expr& x, const Expr& gamma, int axis, size_t rank) {
  return attrs->scale ? multiply(x, along_axis(gamma, axis, rank)) : x;
}

/// (x - mean) / deviation over `axes`: its gradient is that of its value less the part along ones and along itself.
void whiten(const Expr& x, const Array<PrimExpr>& axes, double epsilon, const Expr& like, Expr* white,
            Expr* deviation) {
  Expr centred = subtract(x, mean(x, axes, true));
  *deviation = sqrt(add(mean(multiply(centred, centred), axes, true), number_like(epsilon, like)));
  *white = divide(centred, *deviation);
}
Expr whiten_gradient(const Expr& white, const Expr& deviation, const Expr& grad, const Array<PrimExpr>& axes) {
  Expr along = multiply(white, mean(multiply(grad, white), axes, true));
  return divide(subtract(subtract(grad, mean(grad, axes, true)), along), deviation);
}

Array<Expr> normalize_gradient(const Expr& call, const Expr& grad, const std::vector<int>& given) {
  auto* attrs = call_attrs<NormAttrs>(call);
  const Array<Expr>& args = args_of(call);
  size_t rank = tensor_type(args[0])->shape.size();
  Array<PrimExpr> axes = as_axes(given);
  Normalised n;
  n.axis = normal_axis(attrs->axis, static_cast<int>(rank));
  whiten(args[0], axes, attrs->epsilon, args[0], &n.white, &n.deviation);
  n.by_white = scaled(attrs, grad, args[1], n.axis, rank);
  Array<Expr> affine = affine_gradients(attrs, args, n, grad);
  return {whiten_gradient(n.white, n.deviation, n.by_white, axes), affine[0], affine[1]};
}

}  // namespace

/// Mean and variance are arguments here, and results too: their gradients come from both.
Array<Expr> batch_norm_gradient(const Expr& call, const Expr& grads) {
  auto* attrs = call_attrs<NormAttrs>(call);
  const Array<Expr>& args = args_of(call);
  size_t rank = tensor_type(args[0])->shape.size();
  Expr grad = make_get_item(grads, 0);
  Normalised n;
  n.axis = normal_axis(attrs->axis, static_cast<int>(rank));
  Expr inverse = rsqrt(add(args[4], number_like(attrs->epsilon, args[0])));  // one for each slice
  Expr scale = along_axis(inverse, n.axis, rank);
  n.white = multiply(subtract(args[0], along_axis(args[3], n.axis, rank)), scale);
  n.by_white = scaled(attrs, grad, args[1], n.axis, rank);
  Array<PrimExpr> axis{PrimExpr(n.axis)};
  Expr by_mean = negative(multiply(sum(n.by_white, axis, false, true), inverse));
  Expr by_var = multiply(multiply(sum(multiply(n.by_white, n.white), axis, false, true), multiply(inverse, inverse)),
                         number_like(-0.5, args[0]));
  Array<Expr> affine = affine_gradients(attrs, args, n, grad);
  return {multiply(n.by_white, scale), affine[0], affine[1], add(by_mean, make_get_item(grads, 1)),
          add(by_var, make_get_item(grads, 2))};
}

Array<Expr> layer_norm_gradient(const Expr& call, const Expr& grad) {
  auto rank = static_cast<int>(tensor_type(args_of(call)[0])->shape.size());
  return normalize_gradient(call, grad, {normal_axis(call_attrs<NormAttrs>(call)->axis, rank)});
}

Array<Expr> instance_norm_gradient(const Expr& call, const Expr& grad) {
  auto rank = static_cast<int>(tensor_type(args_of(call)[0])->shape.size());
  std::vector<int> axes;
  for (int i = 1; i < rank; ++i)
    if (i != normal_axis(call_attrs<NormAttrs>(call)->axis, rank)) axes.push_back(i);
  return normalize_gradient(call, grad, axes);
}

Array<Expr> group_norm_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<GroupNormAttrs>(call);
  const Array<Expr>& args = args_of(call);
  Array<PrimExpr> shape = tensor_type(args[0])->shape, split = shape;
  Normalised n;
  n.axis = normal_axis(attrs->axis, static_cast<int>(shape.size()));
  auto axis = static_cast<size_t>(n.axis);
  split.set(axis, floordiv(split[axis], attrs->num_groups));
  split.insert(axis, PrimExpr(attrs->num_groups));
  std::vector<int> within;
  for (size_t i = axis + 1; i < split.size(); ++i) within.push_back(static_cast<int>(i));
  Array<PrimExpr> axes = as_axes(within);
  Expr white;
  whiten(reshape(args[0], split), axes, attrs->epsilon, args[0], &white, &n.deviation);
  n.white = reshape(white, shape);
  n.by_white = scaled(attrs, grad, args[1], n.axis, shape.size());
  Array<Expr> affine = affine_gradients(attrs, args, n, grad);
  Expr by_data = whiten_gradient(white, n.deviation, reshape(n.by_white, split), axes);
  return {reshape(by_data, shape), affine[0], affine[1]};
}

/// x / n with n = sqrt(max(s, eps)), s the sum of squares: s only counts where it is the greater.
Array<Expr> l2_normalize_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<L2NormalizeAttrs>(call);
  const Expr& x = args_of(call)[0];
  Array<PrimExpr> axes = attrs->axis.defined() && !attrs->axis.empty() ? attrs->axis : nullptr;
  Expr squares = sum(multiply(x, x), axes, true), eps = number_like(attrs->eps, x);
  Expr length = sqrt(maximum(squares, eps));
  Expr along = divide(sum(multiply(grad, call), axes, true), length);
  along = where(greater(squares, eps), along, zeros_like(squares));
  return {subtract(divide(grad, length), multiply(call, along))};
}

/// y = x d^-beta with d = bias + alpha / size * (sum of squares of neighbours).
Array<Expr> lrn_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<LRNAttrs>(call);
  const Expr& x = args_of(call)[0];
  const Array<PrimExpr>& shape = tensor_type(x)->shape;
  auto axis = static_cast<size_t>(normal_axis(attrs->axis, static_cast<int>(shape.size())));
  Array<PrimExpr> before(shape.begin(), shape.begin() + axis), after(shape.begin() + axis + 1, shape.end());
  // the mean of neighbours along the axis, as a pool over (1, before, axis, after)
  Array<PrimExpr> image{PrimExpr(1), extent_product(before), shape[axis], extent_product(after)};
  Attrs pool = make_attrs<AvgPool2DAttrs>([&](auto& a) {
    a.pool_size = {PrimExpr(attrs->size), PrimExpr(1)};
    int half = attrs->size / 2;
    a.padding = {PrimExpr(half), PrimExpr(0), PrimExpr(half), PrimExpr(0)};
    a.count_include_pad = true;
  });
  auto neighbours = [&](const Expr& e) { return reshape(call_op("nn.avg_pool2d", {reshape(e, image)}, pool), shape); };
  Expr d = add(multiply(neighbours(multiply(x, x)), number_like(attrs->alpha, x)), number_like(attrs->bias, x));
  Expr direct = multiply(grad, power(d, number_like(-attrs->beta, x)));
  Expr through = neighbours(divide(multiply(direct, x), d));
  Expr factor = number_like(2 * attrs->alpha * attrs->beta, x);
  return {subtract(direct, multiply(multiply(x, through), factor))};
}

Array<Expr> dropout_gradient(const Expr& call, const Expr& grads) {
  return {multiply(make_get_item(grads, 0), make_get_item(call, 1))};
}

}  // namespace tessera::op
