// Gradients of reductions and scans.

#include <algorithm>

#include "op/gradient/gradient.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::broadcast_to_like;
using relay::Call;
using relay::call_op;
using relay::divide;
using relay::make_attrs;
using relay::multiply;
using relay::ReduceAttrs;
using relay::subtract;
using relay::zeros_like;

const ReduceAttrs* attrs_of(const Call* call) { return static_cast<const ReduceAttrs*>(call->attrs.get()); }

std::vector<int> reduced_axes(const Call* call) { return reduce_axes_of(attrs_of(call), rank_of(arg_type(call, 0))); }

/// A value of the result's shape with the reduced dimensions back, of extent 1.
Expr with_axes(const Call* call, const Expr& value) {
  if (attrs_of(call)->keepdims) return value;
  Expr out = value;
  for (int axis : reduced_axes(call)) out = relay::expand_dims(out, axis);
  return out;
}

/// The same broadcast to the argument's shape.
Expr broadcast(const Call* call, const Expr& value) { return broadcast_to_like(with_axes(call, value), call->args[0]); }

/// How many elements went into one, in the type of the argument.
Expr count_of(const Call* call, int less = 0) {
  auto* type = arg_type(call, 0);
  double count = 1;
  Expr open;  // the product of extents that are not known
  for (int axis : reduced_axes(call)) {
    if (const int64_t* known = as_int(type->shape[static_cast<size_t>(axis)])) {
      count *= static_cast<double>(*known);
      continue;
    }
    Expr extent = extent_of(call->args[0], axis, type->dtype);
    open = open ? multiply(open, extent) : extent;
  }
  if (!open) return scalar_like(call, 0, count - less);
  return subtract(multiply(open, scalar_like(call, 0, count)), scalar_like(call, 0, less));
}

/// Equal elements share the gradient.
Exprs extreme_gradient(const Call* call, const Expr& grad) {
  Expr is_it = relay::cast(relay::equal(call->args[0], broadcast(call, Expr(call))), arg_type(call, 0)->dtype);
  Array<PrimExpr> axes;
  for (int axis : reduced_axes(call)) axes.push_back(PrimExpr(axis));
  Expr number = axes.empty() ? is_it : relay::sum(is_it, axes, true);
  return {multiply(broadcast(call, grad), divide(is_it, number))};
}

Expr scan(const char* name, const Expr& value, const Attrs& attrs) { return call_op(name, {value}, attrs); }
Expr reversed(const Expr& value, int axis) {
  return call_op("reverse", {value}, make_attrs<relay::ReverseAttrs>([&](auto& a) { a.axis = PrimExpr(axis); }));
}

/// For each element the product of all others: of those before it and of those behind it, so that zeros do no harm.
Exprs prod_gradient(const Call* call, const Expr& grad) {
  auto* type = arg_type(call, 0);
  std::vector<int> axes = reduced_axes(call);
  if (axes.empty()) return {grad};
  Array<PrimExpr> order, back(type->shape.size(), PrimExpr(0)), flat;
  for (int i = 0; i < rank_of(type); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end())
      order.push_back(PrimExpr(i)), flat.push_back(type->shape[i]);
  for (int axis : axes) order.push_back(PrimExpr(axis));
  for (size_t i = 0; i < order.size(); ++i) back.set(*as_int(order[i]), PrimExpr(static_cast<int>(i)));
  flat.push_back(PrimExpr(-1));
  int last = static_cast<int>(flat.size()) - 1;
  Expr moved = relay::transpose(call->args[0], order), lines = relay::reshape(moved, flat);
  Attrs before =
      make_attrs<relay::ScanopAttrs>([&](auto& a) { a.axis = PrimExpr(last), a.exclusive = bool_imm(true); });
  Expr behind = reversed(scan("cumprod", reversed(lines, last), before), last);
  Expr others = relay::reshape_like(multiply(scan("cumprod", lines, before), behind), moved);
  return {multiply(broadcast(call, grad), relay::transpose(others, back))};
}

/// The mean is an argument of its own: its gradient is what the differences lose.
Exprs variance_gradient(const Call* call, const Expr& grad) {
  Expr distance = subtract(call->args[0], call->args[1]);
  Expr count = count_of(call, static_cast<const relay::VarianceAttrs*>(attrs_of(call))->unbiased ? 1 : 0);
  Expr of_data = divide(multiply(multiply(scalar_like(call, 0, 2), broadcast(call, grad)), distance), count);
  return {of_data, relay::collapse_sum_like(relay::negative(of_data), call->args[1])};
}

Exprs cumsum_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::ScanopAttrs>();
  int axis = attrs->axis ? normal_axis(*as_int(attrs->axis), rank_of(arg_type(call, 0))) : 0;
  Attrs same =
      make_attrs<relay::ScanopAttrs>([&](auto& a) { a.axis = PrimExpr(axis), a.exclusive = attrs->exclusive; });
  Expr out = reversed(scan("cumsum", reversed(grad, axis), same), axis);
  return {call_op("cast_like", {relay::reshape_like(out, call->args[0]), call->args[0]})};
}

/// An element x has its gradient from the products after it, divided by x. Of zeros only the first along the axis has one:
/// the products without it.
Exprs cumprod_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::ScanopAttrs>();
  int axis = attrs->axis ? normal_axis(*as_int(attrs->axis), rank_of(arg_type(call, 0))) : 0;
  Attrs same =
      make_attrs<relay::ScanopAttrs>([&](auto& a) { a.axis = PrimExpr(axis), a.exclusive = attrs->exclusive; });
  Attrs counting = make_attrs<relay::ScanopAttrs>([&](auto& a) { a.axis = PrimExpr(axis); });
  Expr x = attrs->axis ? call->args[0] : relay::reshape(call->args[0], {PrimExpr(-1)});
  x = call_op("cast_like", {x, grad});
  Expr zero = zeros_like(x), one = relay::ones_like(x), is_zero = relay::equal(x, zero);
  Expr zeros_so_far = scan("cumsum", relay::where(is_zero, one, zero), counting);
  Expr is_first = call_op("logical_and", {is_zero, relay::equal(zeros_so_far, one)});
  auto later = [&](const Expr& products) {
    return reversed(scan("cumsum", reversed(relay::multiply(grad, products), axis), same), axis);
  };
  Expr without_zero = later(scan("cumprod", relay::where(is_first, one, x), same));
  Expr plain = relay::divide(later(scan("cumprod", x, same)), relay::where(is_zero, one, x));
  Expr out = relay::where(is_zero, relay::where(is_first, without_zero, zero), plain);
  return {call_op("cast_like", {relay::reshape_like(out, call->args[0]), call->args[0]})};
}

}  // namespace

static void reduce_gradients() {
  set_gradients({
      {"sum", [](const Call* call, const Expr& grad) { return Exprs{broadcast(call, grad)}; }},
      {"mean", [](const Call* call, const Expr& grad) { return Exprs{divide(broadcast(call, grad), count_of(call))}; }},
      {"max", extreme_gradient},
      {"min", extreme_gradient},
      {"prod", prod_gradient},
      {"variance", variance_gradient},
      {"cumsum", cumsum_gradient},
      {"cumprod", cumprod_gradient},
      {"argmax", zero_gradients},
      {"argmin", zero_gradients},
      {"all", zero_gradients},
      {"any", zero_gradients},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily reduce_gradient_family{reduce_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op
