// Parts of tensors by begin, end and stride.

#include "topi/slice.h"
#include "ir/prim/ops.h"
#include "op/layout_rules.h"
#include "op/least_extent.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::is_any;
using relay::SliceLikeAttrs;
using relay::StridedSliceAttrs;

topi::SliceSpec slice_spec(const StridedSliceAttrs* attrs) {
  if (!attrs->begin.defined() || !attrs->end.defined())
    throw Error(TypeError) << "begin and end of a slice must be given";
  if (attrs->slice_mode != "end" && attrs->slice_mode != "size")
    throw Error(TypeError) << "slice_mode is \"" << attrs->slice_mode << "\"; it may be \"end\" or \"size\"";
  auto list = [](const Array<PrimExpr>& given) { return given.defined() ? given : Array<PrimExpr>(); };
  return {.begin = attrs->begin,
          .end = attrs->end,
          .strides = list(attrs->strides),
          .axes = list(attrs->axes),
          .end_is_size = attrs->slice_mode == "size"};
}

bool strided_slice_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  topi::SliceSpec spec = slice_spec(query.attrs_as<StridedSliceAttrs>());
  Array<PrimExpr> shape = data->shape, known;
  for (const PrimExpr& extent : shape) known.push_back(is_any(extent) ? PrimExpr(0) : extent);
  std::vector<topi::SliceAxis> slices = topi::slice_axes(known, spec);
  for (size_t i = 0; i < shape.size(); ++i)
    if (!is_any(shape[i])) shape.set(i, slices[i].extent);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors strided_slice(const Attrs& attrs, const Tensors& in, const Type&) {
  return {topi::strided_slice(in[0], topi::slice_axes(in[0]->shape, slice_spec(attrs.as<StridedSliceAttrs>())))};
}

bool strided_set_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  for (int i = 1; i < 5; ++i)
    if (!query.tensor(i)) return false;
  if (query.tensor(1)->dtype != data->dtype)
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", but v is " << to_text(query.type(1));
  const char* names[] = {"begin", "end", "strides"};
  for (int i = 2; i < 5; ++i) require_integers(query, i, names[i - 2]), require_rank(query, i, names[i - 2], 1);
  query.result(query.type(0));
  return true;
}

/// The dimensions that slice_like slices.
std::vector<int> like_axes(const SliceLikeAttrs* attrs, int rank, int like_rank) {
  std::vector<int> out;
  if (attrs->axes.defined() && !attrs->axes.empty()) {
    for (const PrimExpr& axis : attrs->axes) {
      out.push_back(normal_axis(*as_int(axis), rank));
      if (out.back() >= like_rank)
        throw Error(TypeError) << "axis " << axis << " is out of range for shape_like, which has " << like_rank
                               << " dimensions";
    }
    return out;
  }
  for (int i = 0; i < std::min(rank, like_rank); ++i) out.push_back(i);
  return out;
}

bool slice_like_type(TypeQuery& query) {
  auto *data = query.tensor(0), *like = query.tensor(1);
  if (!data || !like) return false;
  Array<PrimExpr> shape = data->shape;
  for (int axis : like_axes(query.attrs_as<SliceLikeAttrs>(), rank_of(data), rank_of(like))) {
    if (!may_reach(shape[axis], like->shape[axis]))
      throw Error(TypeError) << "data is " << to_text(query.type(0)) << " and shape_like is " << to_text(query.type(1))
                             << ": " << like->shape[axis] << " of " << shape[axis] << " elements of axis " << axis
                             << " cannot be taken";
    shape.set(axis, like->shape[axis]);
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors slice_like(const Attrs& attrs, const Tensors& in, const Type&) {
  std::vector<topi::SliceAxis> slices;
  for (const PrimExpr& extent : in[0]->shape)
    slices.push_back({make_zero(extent.dtype()), make_const(extent.dtype(), 1), extent});
  for (int axis : like_axes(attrs.as<SliceLikeAttrs>(), rank_of(in[0]), rank_of(in[1])))
    slices[axis].extent = in[1]->shape[axis];
  return {topi::strided_slice(in[0], slices)};
}

}  // namespace

static void slice_records() {
  OpRecord("strided_slice")
      .doc("A part of a tensor, as Python's slices mean it.")
      .attrs<StridedSliceAttrs>()
      .input("data", "the input")
      .support_level(4)
      .type("StridedSlice", strided_slice_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Slice)
      .precision(Precision::Follow)
      .layout(layout::slicing)
      .compute(strided_slice);
  OpRecord("strided_set")
      .doc("The input with the elements of v in a part of it.")
      .input("data", "the input")
      .input("v", "the elements to set")
      .input("begin", "where the part begins")
      .input("end", "where it ends")
      .input("strides", "its steps")
      .support_level(4)
      .type("StridedSet", strided_set_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs&, const Tensors& in, const Type&) {
        return Tensors{topi::strided_set(in[0], in[1], in[2], in[3], in[4])};
      });
  OpRecord("slice_like")
      .doc("The first elements of a tensor, as many as another tensor has.")
      .attrs<SliceLikeAttrs>()
      .input("data", "the input")
      .input("shape_like", "what has the shape")
      .support_level(10)
      .type("SliceLike", slice_like_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Slice)
      .precision(Precision::Follow)
      .compute(slice_like);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily slice_family{slice_records};

}  // namespace tessera::op
