#include "relay/make.h"

#include "ir/prim/ops.h"
#include "ir/span_scope.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "runtime/function/element.h"

namespace tessera::relay {

Attrs with_out_dtype(const Attrs& attrs, DataType dtype) {
  const Field* field = attrs ? attrs->type()->find("out_dtype") : nullptr;
  if (!field || field->kind != FieldKind::DType) return attrs;
  ObjectRef copy(attrs->type()->copy(attrs.get()));
  field->at<DataType>(copy.edit()) = dtype;
  return downcast<Attrs>(copy);
}

Expr make_tuple(Array<Expr> fields) {
  Tuple node;
  node.fields_ = std::move(fields);
  node.span = current_span();
  return make(std::move(node));
}

Expr make_get_item(Expr tuple, int index) {
  TupleGetItem node;
  node.tuple = std::move(tuple);
  node.index = index;
  node.span = current_span();
  return make(std::move(node));
}

Expr make_let(Var var, Expr value, Expr body) {
  Let node;
  node.var = std::move(var);
  node.value = std::move(value);
  node.body = std::move(body);
  return make(std::move(node));
}

Expr make_constant(NDArray data) {
  Constant node;
  node.data = std::move(data);
  return make(std::move(node));
}

Expr make_scalar(double value, DataType dtype) { return make_constant(float_scalar(value, dtype)); }

Expr make_ints(const std::vector<int64_t>& values, DataType dtype) {
  int64_t count = static_cast<int64_t>(values.size());
  NDArray data = NDArray::empty(std::span(&count, 1), dtype);
  for (size_t i = 0; i < values.size(); ++i) write_int(dtype, values[i], data.data<char>() + i * dtype.bytes());
  return make_constant(data);
}

// clang-format off
Expr add(Expr a, Expr b) { return call_op(ops::add, {a, b}); }
Expr subtract(Expr a, Expr b) { return call_op(ops::subtract, {a, b}); }
Expr multiply(Expr a, Expr b) { return call_op(ops::multiply, {a, b}); }
Expr divide(Expr a, Expr b) { return call_op(ops::divide, {a, b}); }
Expr power(Expr a, Expr b) { return call_op(ops::power, {a, b}); }
Expr maximum(Expr a, Expr b) { return call_op(ops::maximum, {a, b}); }
Expr minimum(Expr a, Expr b) { return call_op(ops::minimum, {a, b}); }
Expr equal(Expr a, Expr b) { return call_op(ops::equal, {a, b}); }
Expr less(Expr a, Expr b) { return call_op(ops::less, {a, b}); }
Expr greater(Expr a, Expr b) { return call_op(ops::greater, {a, b}); }
Expr where(Expr cond, Expr a, Expr b) { return call_op(ops::where, {cond, a, b}); }
Expr negative(Expr x) { return call_op(ops::negative, {x}); }
Expr exp(Expr x) { return call_op(ops::exp, {x}); }
Expr log(Expr x) { return call_op(ops::log, {x}); }
Expr sqrt(Expr x) { return call_op(ops::sqrt, {x}); }
Expr rsqrt(Expr x) { return call_op(ops::rsqrt, {x}); }
Expr tanh(Expr x) { return call_op(ops::tanh, {x}); }
Expr sigmoid(Expr x) { return call_op(ops::sigmoid, {x}); }
Expr zeros_like(Expr x) { return call_op(ops::zeros_like, {x}); }
Expr ones_like(Expr x) { return call_op(ops::ones_like, {x}); }
// clang-format on

Expr cast(Expr x, DataType dtype) {
  return call_op(ops::cast, {x}, make_attrs<CastAttrs>([&](auto& a) { a.dtype = dtype; }));
}

Expr clip(Expr x, double low, double high) {
  return call_op(ops::clip, {x}, make_attrs<ClipAttrs>([&](auto& a) { a.a_min = low, a.a_max = high; }));
}

Expr reduce(std::string_view name, Expr x, Array<PrimExpr> axis, bool keepdims, bool exclude) {
  return call_op(name, {x}, make_attrs<ReduceAttrs>([&](auto& a) {
                   a.axis = axis;
                   a.keepdims = keepdims;
                   a.exclude = exclude;
                 }));
}
Expr sum(Expr x, Array<PrimExpr> axis, bool keepdims, bool exclude) {
  return reduce(ops::sum, std::move(x), std::move(axis), keepdims, exclude);
}
Expr mean(Expr x, Array<PrimExpr> axis, bool keepdims, bool exclude) {
  return reduce(ops::mean, std::move(x), std::move(axis), keepdims, exclude);
}

Expr reshape(Expr x, Array<PrimExpr> shape) {
  return call_op(ops::reshape, {x}, make_attrs<ReshapeAttrs>([&](auto& a) { a.newshape = shape; }));
}
Expr reshape_like(Expr x, Expr like) {
  return call_op(ops::reshape_like, {x, like}, make_attrs<ReshapeLikeAttrs>([](auto&) {}));
}

Expr transpose(Expr x, Array<PrimExpr> axes) {
  return call_op(ops::transpose, {x}, make_attrs<TransposeAttrs>([&](auto& a) { a.axes = axes; }));
}

Expr expand_dims(Expr x, int axis, int count) {
  return call_op(ops::expand_dims, {x},
                 make_attrs<ExpandDimsAttrs>([&](auto& a) { a.axis = axis, a.num_newaxis = count; }));
}

Expr expand_to_axes(Expr x, const std::vector<int>& axes, int rank) {
  int end = rank;
  for (size_t i = axes.size(); i-- > 0; end = axes[i]) {
    int behind = end - axes[i] - 1;
    if (behind > 0) x = expand_dims(x, static_cast<int>(i) + 1, behind);
  }
  return x;
}

Expr squeeze(Expr x, Array<PrimExpr> axis) {
  return call_op(ops::squeeze, {x}, make_attrs<SqueezeAttrs>([&](auto& a) { a.axis = axis; }));
}

Expr concatenate(Array<Expr> parts, int axis) {
  return call_op(ops::concatenate, {make_tuple(std::move(parts))},
                 make_attrs<ConcatenateAttrs>([&](auto& a) { a.axis = axis; }));
}

Expr stack(Array<Expr> parts, int axis) {
  return call_op(ops::stack, {make_tuple(std::move(parts))}, make_attrs<StackAttrs>([&](auto& a) { a.axis = axis; }));
}

Expr split(Expr x, int sections, int axis) {
  return call_op(ops::split, {x}, make_attrs<SplitAttrs>([&](auto& a) {
                   a.indices_or_sections = int_imm(DataType::Int(32), sections);
                   a.axis = axis;
                 }));
}
Expr split(Expr x, const std::vector<int64_t>& begins, int axis) {
  Array<PrimExpr> indices;
  for (int64_t begin : begins) indices.push_back(int_imm(DataType::Int(32), begin));
  return call_op(ops::split, {x},
                 make_attrs<SplitAttrs>([&](auto& a) { a.indices_or_sections = indices, a.axis = axis; }));
}

Expr broadcast_to(Expr x, Array<PrimExpr> shape) {
  return call_op(ops::broadcast_to, {x}, make_attrs<InitOpAttrs>([&](auto& a) { a.shape = shape; }));
}
Expr broadcast_to_like(Expr x, Expr like) { return call_op(ops::broadcast_to_like, {x, like}); }
Expr collapse_sum_like(Expr x, Expr like) { return call_op(ops::collapse_sum_like, {x, like}); }

Expr strided_slice(Expr x, Array<PrimExpr> begin, Array<PrimExpr> end, Array<PrimExpr> strides) {
  if (!strides.defined()) strides = Array<PrimExpr>(begin.size(), PrimExpr(1));
  return call_op(ops::strided_slice, {x}, make_attrs<StridedSliceAttrs>([&](auto& a) {
                   a.begin = begin;
                   a.end = end;
                   a.strides = strides;
                 }));
}

Expr slice_axis(Expr x, int axis, int64_t begin, int64_t end, int64_t stride) {
  return call_op(ops::strided_slice, {x}, make_attrs<StridedSliceAttrs>([&](auto& a) {
                   a.begin = int_array({begin});
                   a.end = int_array({end});
                   a.strides = int_array({stride});
                   a.axes = int_array({axis});
                 }));
}

Expr pad_around(Expr x, const std::vector<std::array<int64_t, 2>>& widths, double value, DataType dtype) {
  return call_op(ops::pad, {x, make_scalar(value, dtype)}, make_attrs<PadAttrs>([&](auto& a) {
                   for (const auto& [before, after] : widths) a.pad_width.push_back(int_array({before, after}));
                 }));
}

Expr layout_transform(Expr x, String from, String to) {
  return call_op(ops::layout_transform, {x},
                 make_attrs<LayoutTransformAttrs>([&](auto& a) { a.src_layout = from, a.dst_layout = to; }));
}

}  // namespace tessera::relay
