#include "topi/nn/softmax.h"

#include "ir/prim/ops.h"
#include "te/reduce.h"
#include "topi/elementwise.h"

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

/// The last step, which says the axis to schedules.
te::Tensor output_of(const te::Tensor& x, int axis, const Element& element, const String& name, const String& tag) {
  Array<IterVar> axes;
  Array<PrimExpr> at;
  for (size_t i = 0; i < x->shape.size(); ++i) {
    Var var = make_var("i" + std::to_string(i), x->shape[i].dtype());
    axes.push_back(make_iter_var(make_range(make_zero(var->dtype), x->shape[i]), var, IterType::DataPar));
    at.push_back(var);
  }
  return te::output(te::compute_op(name, tag, {{"axis", PrimExpr(axis)}}, axes, {element(at)}), 0);
}

te::Tensor maximum_of(const te::Tensor& x, int axis) {
  return reduce_axis_of(
      x, axis, [&](const Array<PrimExpr>& at) { return te::load(x, at); }, te::max_over, "T_softmax_maxelem");
}

/// exp of x less its maximum, over its sum.
te::Tensor softmax_with(const te::Tensor& x, int axis, bool is_fast) {
  te::Tensor greatest = maximum_of(x, axis);
  auto shifted = [&](const Array<PrimExpr>& at) { return te::load(x, at) - te::load(greatest, without(at, axis)); };
  te::Tensor power;
  if (is_fast) power = fast_exp(compute(x->shape, "i", shifted, "T_softmax_delta", ""));
  else power = compute(x->shape, "i", [&](const Array<PrimExpr>& at) { return exp(shifted(at)); }, "T_softmax_exp", "");
  te::Tensor total = reduce_axis_of(
      x, axis, [&](const Array<PrimExpr>& at) { return te::load(power, at); }, te::sum, "T_softmax_expsum");
  return output_of(
      x, axis, [&](const Array<PrimExpr>& at) { return div(te::load(power, at), te::load(total, without(at, axis))); },
      "T_softmax_norm", "softmax_output");
}

}  // namespace

te::Tensor softmax(const te::Tensor& x, int axis) { return softmax_with(x, axis, false); }
te::Tensor fast_softmax(const te::Tensor& x, int axis) { return softmax_with(x, axis, true); }

te::Tensor log_softmax(const te::Tensor& x, int axis) {
  te::Tensor greatest = maximum_of(x, axis);
  auto shifted = [&](const Array<PrimExpr>& at) { return te::load(x, at) - te::load(greatest, without(at, axis)); };
  te::Tensor total =
      reduce_axis_of(x, axis, [&](const Array<PrimExpr>& at) { return exp(shifted(at)); }, te::sum, "compute");
  return output_of(
      x, axis, [&](const Array<PrimExpr>& at) { return shifted(at) - log(te::load(total, without(at, axis))); },
      "compute", "log_softmax_output");
}

}  // namespace tessera::topi
