#pragma once
// Relay expressions made in C++, as passes, gradients and importers need them beside `call_op` (relay/expr.h):
// functions for the operators that are written often. Nothing here knows an operator's record; types are inferred later.

#include <array>
#include <string_view>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// Attributes with the given fields: make_attrs<ReduceAttrs>([&](auto& a) { a.axis = axes; }).
template <class T, class F>
Attrs make_attrs(F&& fill) {
  T node;
  fill(node);
  return make(std::move(node));
}
/// A copy of the attributes, of whatever type of T's family they are, with `change` applied:
/// changed_attrs<ConvAttrs>(attrs, [&](auto& a) { a.groups = 1; }).
template <class T, class F>
Attrs changed_attrs(const Attrs& attrs, F&& change) {
  ICHECK(attrs.as<T>()) << "these attributes are not " << T::info.key;
  ObjectRef copy(attrs->type()->copy(attrs.get()));
  change(const_cast<T&>(*copy.as<T>()));
  return downcast<Attrs>(copy);
}
/// The attributes with another `out_dtype`; as they are where they have none.
Attrs with_out_dtype(const Attrs& attrs, DataType dtype);

Expr make_tuple(Array<Expr> fields);
Expr make_get_item(Expr tuple, int index);
Expr make_let(Var var, Expr value, Expr body);
Expr make_constant(NDArray data);
/// A constant without dimensions; the value is rounded to the type.
Expr make_scalar(double value, DataType dtype);
/// A constant with one dimension (or none of them) of int32 or int64 numbers.
Expr make_ints(const std::vector<int64_t>& values, DataType dtype = DataType::Int(64));

// ---- element by element ------------------------------------------------------------------------------------------
Expr add(Expr a, Expr b);
Expr subtract(Expr a, Expr b);
Expr multiply(Expr a, Expr b);
Expr divide(Expr a, Expr b);
Expr power(Expr a, Expr b);
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr greater(Expr a, Expr b);
Expr where(Expr cond, Expr a, Expr b);
Expr negative(Expr x);
Expr exp(Expr x);
Expr log(Expr x);
Expr sqrt(Expr x);
Expr rsqrt(Expr x);
Expr tanh(Expr x);
Expr sigmoid(Expr x);
Expr zeros_like(Expr x);
Expr ones_like(Expr x);
Expr cast(Expr x, DataType dtype);
Expr clip(Expr x, double low, double high);

// ---- reductions: without axes over all; with `exclude` over all but those -----------------------------------------
Expr sum(Expr x, Array<PrimExpr> axis = nullptr, bool keepdims = false, bool exclude = false);
Expr mean(Expr x, Array<PrimExpr> axis = nullptr, bool keepdims = false, bool exclude = false);
/// The named reduction ("max", "prod", ...).
Expr reduce(std::string_view name, Expr x, Array<PrimExpr> axis, bool keepdims = false, bool exclude = false);

// ---- shapes ------------------------------------------------------------------------------------------------------
Expr reshape(Expr x, Array<PrimExpr> shape);
Expr reshape_like(Expr x, Expr like);
/// Without axes: reversed.
Expr transpose(Expr x, Array<PrimExpr> axes = nullptr);
Expr expand_dims(Expr x, int axis, int count = 1);
Expr squeeze(Expr x, Array<PrimExpr> axis = nullptr);
Expr concatenate(Array<Expr> parts, int axis);
Expr stack(Array<Expr> parts, int axis);
/// `sections` equal parts.
Expr split(Expr x, int sections, int axis);
/// Parts that begin at 0 and at the given indices.
Expr split(Expr x, const std::vector<int64_t>& begins, int axis);
Expr broadcast_to(Expr x, Array<PrimExpr> shape);
Expr broadcast_to_like(Expr x, Expr like);
/// Sums over what was broadcast, so that the result has the shape of `like`.
Expr collapse_sum_like(Expr x, Expr like);
/// A tensor with one dimension for each of the axes, in their order, as one that broadcasts against `rank` dimensions:
/// dimensions of extent 1 are put behind each.
Expr expand_to_axes(Expr x, const std::vector<int>& axes, int rank);
Expr layout_transform(Expr x, String from, String to);
/// From `begin` to before `end` in steps of `strides` (one number each per dimension; without strides, each element).
Expr strided_slice(Expr x, Array<PrimExpr> begin, Array<PrimExpr> end, Array<PrimExpr> strides = nullptr);
/// The elements [begin, end) of one axis, in steps.
Expr slice_axis(Expr x, int axis, int64_t begin, int64_t end, int64_t stride = 1);
/// `value` around a tensor of type `dtype`: how often before and after the elements of each dimension.
Expr pad_around(Expr x, const std::vector<std::array<int64_t, 2>>& widths, double value, DataType dtype);

}  // namespace tessera::relay
