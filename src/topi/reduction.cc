#include "topi/reduction.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "te/reduce.h"

namespace tessera::topi {
namespace {

/// Where the elements of a reduction come from and go to.
struct Plan {
  std::vector<int> axes;
  Array<IterVar> reduce;
  Array<PrimExpr> shape;  // of the result
  bool keepdims;

  bool reduces(size_t dim) const { return std::find(axes.begin(), axes.end(), static_cast<int>(dim)) != axes.end(); }
};

Plan make_plan(const te::Tensor& data, const ReduceOptions& options) {
  Plan plan{.axes = reduce_axes(options.axes, options.all_axes, data->shape.size()), .keepdims = options.keepdims};
  for (size_t dim = 0; dim < data->shape.size(); ++dim) {
    PrimExpr extent = data->shape[dim];
    if (plan.reduces(dim)) {
      plan.reduce.push_back(te::reduce_axis(make_range(make_zero(extent.dtype()), extent), "k" + std::to_string(dim)));
      if (options.keepdims) plan.shape.push_back(make_const(extent.dtype(), 1));
    } else {
      plan.shape.push_back(extent);
    }
  }
  return plan;
}

/// The indices into the data for element `out` of the result.
Array<PrimExpr> source_indices(const Plan& plan, const Array<PrimExpr>& out, size_t rank) {
  Array<PrimExpr> indices;
  size_t next_out = 0, next_reduce = 0;
  for (size_t dim = 0; dim < rank; ++dim) {
    if (plan.reduces(dim)) {
      indices.push_back(plan.reduce[next_reduce++]->var);
      if (plan.keepdims) ++next_out;
    } else {
      indices.push_back(out[next_out++]);
    }
  }
  return indices;
}

using Combine = PrimExpr (*)(PrimExpr, PrimExpr);

te::Tensor reduce_with(const te::Tensor& data, const ReduceOptions& options, Combine combine,
                       const PrimExpr& identity) {
  Plan plan = make_plan(data, options);
  if (plan.axes.empty())  // nothing to reduce: the data itself
    return compute(
        data->shape, "ax", [&](const Array<PrimExpr>& i) { return te::load(data, i); },
        te::tensor_name(data.get()) + "_red", kInjective);
  return compute(
      plan.shape, "ax",
      [&](const Array<PrimExpr>& i) {
        PrimExpr element = te::load(data, source_indices(plan, i, data->shape.size()));
        return te::reduce(element, plan.reduce, combine, identity);
      },
      te::tensor_name(data.get()) + "_red", kReduce);
}

/// Reduces (position, value) pairs, then keeps the position.
te::Tensor reduce_position(const te::Tensor& data, const ReduceOptions& options, bool last, bool greatest) {
  Plan plan = make_plan(data, options);
  const std::string prefix = greatest ? "argmax" : "argmin";
  const std::string name = te::tensor_name(data.get()) + "_red";
  DataType index_type = DataType::Int(32);
  Var lhs_i = make_var(prefix + "_lhs_0", index_type), rhs_i = make_var(prefix + "_rhs_0", index_type);
  Var lhs_v = make_var(prefix + "_lhs_1", data->dtype), rhs_v = make_var(prefix + "_rhs_1", data->dtype);
  // NaN counts as better than every number, as in NumPy, and NaNs as equal.
  PrimExpr is_lhs_nan = isnan(lhs_v), is_rhs_nan = isnan(rhs_v);
  PrimExpr better =
      logical_or(greatest ? lhs_v > rhs_v : lhs_v < rhs_v, logical_and(is_lhs_nan, logical_not(is_rhs_nan)));
  PrimExpr same = logical_or(equal(lhs_v, rhs_v), logical_and(is_lhs_nan, is_rhs_nan));
  PrimExpr earlier = last ? lhs_i > rhs_i : lhs_i < rhs_i;
  PrimExpr keep = logical_or(better, logical_and(same, earlier));
  // Of equal values the identity's index must lose: an element may be infinite too.
  PrimExpr nowhere = last ? PrimExpr(-1) : max_value(index_type);
  CommReducer reducer = make(CommReducerNode{
      .lhs = {lhs_i, lhs_v},
      .rhs = {rhs_i, rhs_v},
      .result = {select(keep, lhs_i, rhs_i), select(better, lhs_v, rhs_v)},
      .identity_element = {nowhere, greatest ? te::least_of(data->dtype) : te::greatest_of(data->dtype)}});

  Array<IterVar> axes;
  Array<PrimExpr> indices;
  for (size_t i = 0; i < plan.shape.size(); ++i) {
    Var var = make_var("ax" + std::to_string(i), plan.shape[i].dtype());
    axes.push_back(make_iter_var(make_range(make_zero(var->dtype), plan.shape[i]), var, IterType::DataPar));
    indices.push_back(var);
  }
  PrimExpr position;
  for (const IterVar& axis : plan.reduce)
    position = position ? position * axis->dom->extent + axis->var : PrimExpr(axis->var);
  Array<PrimExpr> source{tessera::cast(index_type, position),
                         te::load(data, source_indices(plan, indices, data->shape.size()))};
  te::Operation pairs =
      te::compute_op(name + "_temp", kReduceIndex, {}, axes,
                     {te::reduce(reducer, source, plan.reduce, 0), te::reduce(reducer, source, plan.reduce, 1)});
  te::Tensor positions = te::output(pairs, 0);
  return compute(
      plan.shape, "ax", [&](const Array<PrimExpr>& i) { return te::load(positions, i); }, name, kReduceIndex);
}

/// `extreme`: the least or greatest elements of the data, in the shape of the result.
te::Tensor index_of_extreme(const te::Tensor& data, const te::Tensor& extreme, const ReduceOptions& options,
                            bool last) {
  Plan plan = make_plan(data, options);
  const DataType index = DataType::Int(32);
  PrimExpr position, count;
  for (const IterVar& axis : plan.reduce) {
    position = position ? position * axis->dom->extent + axis->var : PrimExpr(axis->var);
    count = count ? count * axis->dom->extent : axis->dom->extent;
  }
  // A position that loses against all others, and is one nevertheless.
  PrimExpr nowhere = last ? make_zero(index) : tessera::cast(index, count) - make_const(index, 1);
  const std::string name = te::tensor_name(data.get()) + "_red";
  return compute(
      plan.shape, "ax",
      [&](const Array<PrimExpr>& i) {
        PrimExpr element = te::load(data, source_indices(plan, i, data->shape.size()));
        // where an element is NaN, so is the extreme
        PrimExpr is_extreme = logical_or(equal(element, te::load(extreme, i)), isnan(element));
        PrimExpr candidate = select(is_extreme, tessera::cast(index, position), nowhere);
        if (last) return te::max_over(candidate, plan.reduce);
        return te::reduce(
            candidate, plan.reduce, [](PrimExpr a, PrimExpr b) { return min(a, b); }, te::greatest_of(index));
      },
      name, kReduceIndex);
}

}  // namespace

std::vector<int> reduce_axes(const std::vector<int64_t>& axes, bool all, size_t rank) {
  std::vector<int> out;
  if (all) {
    for (size_t i = 0; i < rank; ++i) out.push_back(static_cast<int>(i));
    return out;
  }
  auto n = static_cast<int64_t>(rank);
  for (int64_t axis : axes) {
    if (axis < -n || axis >= n)
      throw Error(ValueError) << "axis " << axis << " is out of range for a tensor of " << rank << " dimensions";
    out.push_back(static_cast<int>(axis < 0 ? axis + n : axis));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

te::Tensor sum(const te::Tensor& data, const ReduceOptions& options) {
  return reduce_with(data, options, [](PrimExpr a, PrimExpr b) { return a + b; }, make_zero(data->dtype));
}
te::Tensor prod(const te::Tensor& data, const ReduceOptions& options) {
  return reduce_with(data, options, [](PrimExpr a, PrimExpr b) { return a * b; }, make_const(data->dtype, 1));
}
te::Tensor min(const te::Tensor& data, const ReduceOptions& options) {
  return reduce_with(data, options, [](PrimExpr a, PrimExpr b) { return min(a, b); }, te::greatest_of(data->dtype));
}
te::Tensor max(const te::Tensor& data, const ReduceOptions& options) {
  return reduce_with(data, options, [](PrimExpr a, PrimExpr b) { return max(a, b); }, te::least_of(data->dtype));
}
te::Tensor all(const te::Tensor& data, const ReduceOptions& options) {
  return reduce_with(data, options, [](PrimExpr a, PrimExpr b) { return logical_and(a, b); }, bool_imm(true));
}
te::Tensor any(const te::Tensor& data, const ReduceOptions& options) {
  return reduce_with(data, options, [](PrimExpr a, PrimExpr b) { return logical_or(a, b); }, bool_imm(false));
}
te::Tensor argmin(const te::Tensor& data, const ReduceOptions& options, bool last) {
  return reduce_position(data, options, last, false);
}
te::Tensor argmax(const te::Tensor& data, const ReduceOptions& options, bool last) {
  return reduce_position(data, options, last, true);
}
te::Tensor two_pass_argmin(const te::Tensor& data, const ReduceOptions& options, bool last) {
  return index_of_extreme(data, min(data, options), options, last);
}
te::Tensor two_pass_argmax(const te::Tensor& data, const ReduceOptions& options, bool last) {
  return index_of_extreme(data, max(data, options), options, last);
}

namespace {

/// `axis` as Python gives it: None for all, one number, or a list.
ReduceOptions options_of(const AnyView& axis, bool keepdims) {
  ReduceOptions options{.axes = {}, .all_axes = axis.is_null(), .keepdims = keepdims};
  if (options.all_axes) return options;
  if (auto* list = cast_or_null<ArrayNode>(axis.object())) {
    for (const ObjectRef& item : list->items) options.axes.push_back(Any::of_object(item.get()).to<int64_t>());
  } else {
    options.axes.push_back(axis.to<int64_t>());
  }
  return options;
}

using Reduction = te::Tensor (*)(const te::Tensor&, const ReduceOptions&);
auto plain(Reduction reduction) {
  return [reduction](te::Tensor data, Any axis, bool keepdims) { return reduction(data, options_of(axis, keepdims)); };
}
using PositionReduction = te::Tensor (*)(const te::Tensor&, const ReduceOptions&, bool);
auto position(PositionReduction reduction) {
  return [reduction](te::Tensor data, Any axis, bool keepdims, bool last) {
    return reduction(data, options_of(axis, keepdims), last);
  };
}

Globals reduction_globals{
    {"topi.sum", plain(sum)},          {"topi.prod", plain(prod)},        {"topi.min", plain(min)},
    {"topi.max", plain(max)},          {"topi.all", plain(all)},          {"topi.any", plain(any)},
    {"topi.argmin", position(argmin)}, {"topi.argmax", position(argmax)},
};

}  // namespace
}  // namespace tessera::topi
