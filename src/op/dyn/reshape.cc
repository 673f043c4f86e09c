// dyn.reshape, expand_dims, squeeze, strided_slice, topk: numbers that say which elements go where are arguments.

#include "ir/prim/ops.h"
#include "op/dyn/shapes.h"
#include "op/dyn/static_forms.h"
#include "op/records.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "topi/program.h"
#include "topi/search.h"
#include "topi/slice.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::DynExpandDimsAttrs;
using relay::ReshapeAttrs;
using relay::SqueezeAttrs;
using relay::StridedSliceAttrs;
using relay::TopkAttrs;

Tensors reshape(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::reshape(in[0], tensor_of(out)->shape)};
}

bool reshape_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  query.result(TensorType(any_shape(vector_length(query, 1, "newshape")), data->dtype));
  return true;
}

Tensors reshape_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  auto* reshape = attrs.as<ReshapeAttrs>();
  return host_shapes("tessera.shape.reshape", in, ranks,
                     {bool_imm(reshape->allowzero), bool_imm(reshape->newshape.empty())});
}

bool expand_dims_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  require_integers(query, 1, "axis");
  query.result(TensorType(any_shape(rank_of(data) + query.attrs_as<DynExpandDimsAttrs>()->num_newaxis), data->dtype));
  return true;
}

Tensors expand_dims_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.expand_dims", in, ranks, {PrimExpr(attrs.as<DynExpandDimsAttrs>()->num_newaxis)});
}

bool squeeze_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  int64_t gone = vector_length(query, 1, "axes");
  if (gone > rank_of(data))
    throw Error(TypeError) << gone << " dimensions cannot be taken from " << to_text(query.type(0));
  query.result(TensorType(any_shape(rank_of(data) - gone), data->dtype));
  return true;
}

Tensors squeeze_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.squeeze", in, ranks);
}

bool strided_slice_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  for (int i = 0; i < 4; ++i)
    if (!query.tensor(i)) return false;
  const char* names[] = {"data", "begin", "end", "strides"};
  int64_t count = 0;
  for (int i = 1; i < 4; ++i) count = std::max(count, vector_length(query, i, names[i]));
  if (count > rank_of(data))
    throw Error(TypeError) << "a slice has " << count << " bounds for " << to_text(query.type(0));
  Array<PrimExpr> shape = data->shape;
  if (const Array<PrimExpr>& axes = query.attrs_as<StridedSliceAttrs>()->axes; axes.defined()) {
    for (const PrimExpr& axis : axes) shape.set(normal_axis(constant_of(axis, "axes"), rank_of(data)), any_extent());
  } else {
    for (int64_t i = 0; i < count; ++i) shape.set(i, any_extent());
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

bool end_is_size(const Attrs& attrs) { return attrs.as<StridedSliceAttrs>()->slice_mode == "size"; }

Tensors strided_slice_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.strided_slice", in, ranks, {bool_imm(end_is_size(attrs))});
}

Tensors strided_slice(const Attrs& attrs, const Tensors& in, const Type& out) {
  // Bounds count in 64 bits, as in the shape; what they mean inside the data fits into the type of extents.
  const DataType wide = DataType::Int(64);
  auto slice_of = [&](size_t i) {
    auto given = [&](const te::Tensor& list) {
      return static_cast<int64_t>(i) < *as_int(list->shape[0]) ? int64_at(list, static_cast<int64_t>(i)) : PrimExpr();
    };
    const PrimExpr& size = in[0]->shape[i];
    topi::SliceAxis slice = topi::slice_axis(cast(wide, size), given(in[1]), given(in[2]),
                                             topi::bounded_stride(given(in[3])), end_is_size(attrs));
    return std::pair(cast(size.dtype(), slice.begin), cast(size.dtype(), slice.stride));
  };
  return {topi::compute(
      tensor_of(out)->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        for (size_t i = 0; i < at.size(); ++i) {
          auto [begin, stride] = slice_of(i);
          source.push_back(at[i] * stride + begin);
        }
        return te::load(in[0], source);
      },
      "T_strided_slice", topi::kInjective)};
}

bool topk_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  auto* attrs = query.attrs_as<TopkAttrs>();
  require_integers(query, 1, "k");
  Array<PrimExpr> shape = data->shape;
  shape.set(normal_axis(attrs->axis, rank_of(data)), any_extent());
  query.result(topk_result(query, shape, attrs->ret_type, attrs->dtype));
  return true;
}

Tensors topk_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  auto* topk = attrs.as<TopkAttrs>();
  int axis = normal_axis(topk->axis, static_cast<int>(*as_int(ranks[0])));
  int64_t least = topk->k ? constant_of(topk->k, "k") : INT64_MIN;
  return host_shapes("tessera.shape.topk", in, ranks, {PrimExpr(axis), make_const(DataType::Int(64), least)});
}

Tensors topk(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<TopkAttrs>();
  int axis = normal_axis(attrs->axis, rank_of(in[0]));
  auto* tuple = out.as<TupleType>();
  PrimExpr count = tensor_of(tuple ? tuple->fields_[0] : out)->shape[axis];
  return topi::topk(in[0], count, axis, attrs->ret_type, attrs->is_ascend, attrs->dtype);
}

}  // namespace

static void dyn_reshape_records() {
  OpRecord("dyn.reshape")
      .doc("The same elements in row-major order under another shape.")
      .attrs<ReshapeAttrs>()
      .input("data", "the input")
      .input("newshape", "the shape")
      .support_level(3)
      .type("DynamicReshape", reshape_type)
      .fusion(Fusion::Injective)
      .static_form(static_reshape)
      .moves(Moves::View)
      .compute(reshape)
      .shape({0, 1}, reshape_shape);
  OpRecord("dyn.expand_dims")
      .doc("New dimensions of extent 1.")
      .input("data", "the input")
      .input("axis", "where")
      .support_level(3)
      .type("DynamicExpandDims", expand_dims_type)
      .fusion(Fusion::Injective)
      .static_form(static_expand_dims)
      .moves(Moves::View)
      .compute(reshape)
      .shape({0, 1}, expand_dims_shape);
  OpRecord("dyn.squeeze")
      .doc("Without dimensions of extent 1.")
      .attrs<SqueezeAttrs>()
      .input("data", "the input")
      .input("axes", "which")
      .support_level(3)
      .type("DynamicSqueeze", squeeze_type)
      .fusion(Fusion::Injective)
      .static_form(static_squeeze)
      .moves(Moves::View)
      .compute(reshape)
      .shape({0, 1}, squeeze_shape);
  OpRecord("dyn.strided_slice")
      .doc("A part of a tensor, as Python's slices mean it. Where `axes` are given, the bounds of others keep all.")
      .attrs<StridedSliceAttrs>()
      .input("data", "the input")
      .input("begin", "where it begins")
      .input("end", "where it ends")
      .input("strides", "its steps")
      .input("slice_mode", "how the end is counted: an attribute")
      .takes(4)
      .support_level(4)
      .type("StridedSlice", strided_slice_type)
      .fusion(Fusion::Injective)
      .static_form(static_slice)
      .moves(Moves::Slice)
      .compute(strided_slice)
      .shape({0, 1, 1, 1}, strided_slice_shape);
  OpRecord("dyn.topk")
      .doc("The greatest or least elements along an axis, their indices, or both.")
      .attrs<TopkAttrs>()
      .input("data", "the input")
      .input("k", "how many")
      .support_level(6)
      .type("DynTopK", topk_type)
      .fusion(Fusion::Opaque)
      .static_form(static_topk)
      .compute(topk)
      .shape({0, 1}, topk_shape);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily dyn_reshape_family{dyn_reshape_records};

}  // namespace tessera::op
