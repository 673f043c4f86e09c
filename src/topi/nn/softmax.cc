#include "topi/nn/softmax.h"

#include "ir/prim_ops.h"
#include "te/reduce.h"
#include "topi/operand.h"

namespace tessera::topi {
namespace {

/// `at` without dimension `axis`, and back with `index` in it.
Array<PrimExpr> without(const Array<PrimExpr>& at, int axis) {
  Array<PrimExpr> out = at;
  out.erase(static_cast<size_t>(axis));
  return out;
}
Array<PrimExpr> insert(const Array<PrimExpr>& at, int axis, const PrimExpr& index) {
  Array<PrimExpr> out = at;
  out.insert(static_cast<size_t>(axis), index);
  return out;
}

PrimExpr exp(const PrimExpr& x) { return unary_intrin("tir.exp", x); }
PrimExpr log(const PrimExpr& x) { return unary_intrin("tir.log", x); }

using Element = std::function<PrimExpr(const Array<PrimExpr>&)>;
using Combine = PrimExpr (*)(const PrimExpr&, const Array<IterVar>&);

te::Tensor reduce_axis_of(const te::Tensor& x, int axis, const Element& element, Combine combine, const String& name) {
  PrimExpr extent = x->shape[static_cast<size_t>(axis)];
  IterVar k = te::reduce_axis(make_range(make_zero(extent.dtype()), extent), "k");
  return compute(
      without(x->shape, axis), "i",
      [&](const Array<PrimExpr>& at) { return combine(element(insert(at, axis, k->var)), {k}); }, name, "");
}

te::Tensor maximum_of(const te::Tensor& x, int axis) {
  return reduce_axis_of(
      x, axis, [&](const Array<PrimExpr>& at) { return te::load(x, at); }, te::max_over, "T_softmax_maxelem");
}

}  // namespace

te::Tensor softmax(const te::Tensor& x, int axis) {
  te::Tensor greatest = maximum_of(x, axis);
  te::Tensor power = compute(
      x->shape, "i",
      [&](const Array<PrimExpr>& at) { return exp(te::load(x, at) - te::load(greatest, without(at, axis))); },
      "T_softmax_exp", "");
  te::Tensor total = reduce_axis_of(
      x, axis, [&](const Array<PrimExpr>& at) { return te::load(power, at); }, te::sum, "T_softmax_expsum");
  return compute(
      x->shape, "i",
      [&](const Array<PrimExpr>& at) { return div(te::load(power, at), te::load(total, without(at, axis))); },
      "T_softmax_norm", "softmax_output");
}

te::Tensor log_softmax(const te::Tensor& x, int axis) {
  te::Tensor greatest = maximum_of(x, axis);
  auto shifted = [&](const Array<PrimExpr>& at) { return te::load(x, at) - te::load(greatest, without(at, axis)); };
  te::Tensor total =
      reduce_axis_of(x, axis, [&](const Array<PrimExpr>& at) { return exp(shifted(at)); }, te::sum, "compute");
  return compute(
      x->shape, "i", [&](const Array<PrimExpr>& at) { return shifted(at) - log(te::load(total, without(at, axis))); },
      "compute", "");
}

}  // namespace tessera::topi
