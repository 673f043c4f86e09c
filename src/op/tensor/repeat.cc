// Elements repeated, broadcast, or summed over what was broadcast; windows; shapes as tensors.

#include "topi/repeat.h"
#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/records.h"
#include "op/rules.h"
#include "op/tensor/concrete_forms.h"
#include "relay/attrs/transform.h"
#include "topi/broadcast.h"

namespace tessera::op {
namespace {

using relay::InitOpAttrs;
using relay::NdarraySizeAttrs;
using relay::RepeatAttrs;
using relay::ShapeOfAttrs;
using relay::SlidingWindowAttrs;
using relay::TileAttrs;

bool tile_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<TileAttrs>();
  if (!attrs->reps.defined()) throw Error(TypeError) << "reps is not given";
  size_t rank = data->shape.size(), count = attrs->reps.size(), out_rank = std::max(rank, count);
  Array<PrimExpr> shape;
  for (size_t back = out_rank; back > 0; --back) {
    PrimExpr extent = back <= rank ? data->shape[rank - back] : PrimExpr(1);
    PrimExpr times = back <= count ? attrs->reps[count - back] : PrimExpr(1);
    if (as_int(times) && *as_int(times) < 0) throw Error(TypeError) << "reps holds " << times;
    shape.push_back(unless_any({extent, times}, [&] { return extent * tessera::cast(extent.dtype(), times); }));
  }
  query.result(TensorType(shape, data->dtype));
  return true;
}

int repeat_axis(const RepeatAttrs* attrs, int rank) { return normal_axis(constant_of(attrs->axis, "axis"), rank); }

bool repeat_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<RepeatAttrs>();
  int axis = repeat_axis(attrs, rank_of(data));
  if (as_int(attrs->repeats) && *as_int(attrs->repeats) < 1)
    throw Error(TypeError) << "repeats is " << attrs->repeats << "; it must be 1 or more";
  Array<PrimExpr> shape = data->shape;
  shape.set(axis, unless_any({shape[axis]},
                             [&] { return shape[axis] * tessera::cast(shape[axis].dtype(), attrs->repeats); }));
  query.result(TensorType(shape, data->dtype));
  return true;
}

bool sliding_window_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<SlidingWindowAttrs>();
  int axis = normal_axis(attrs->axis, rank_of(data)), count = static_cast<int>(attrs->window_shape.size());
  if (axis + count > rank_of(data) || attrs->strides.size() != attrs->window_shape.size())
    throw Error(TypeError) << "a window of " << count << " dimensions with " << attrs->strides.size()
                           << " strides does not fit axis " << axis << " of " << to_text(query.type(0));
  if (axis + count != rank_of(data))
    throw Error(TypeError) << "the window must cover all dimensions from axis " << axis << " on";
  Array<PrimExpr> shape(data->shape.begin(), data->shape.begin() + axis);
  for (int i = 0; i < count; ++i) {
    PrimExpr extent = data->shape[axis + i], window = attrs->window_shape[i], stride = attrs->strides[i];
    if (constant_of(stride, "strides") < 1) throw Error(TypeError) << "a stride is " << stride;
    if (as_int(extent) && as_int(window) && *as_int(window) > *as_int(extent))
      throw Error(TypeError) << "a window of " << window << " does not fit an extent of " << extent;
    shape.push_back(unless_any({extent}, [&] { return floordiv(extent - window, stride) + PrimExpr(1); }));
  }
  for (const PrimExpr& window : attrs->window_shape) shape.push_back(window);
  query.result(TensorType(shape, data->dtype));
  return true;
}

/// A TypeError unless `from` can be broadcast to `to`; an extent of either may be unknown.
void require_broadcastable(const Array<PrimExpr>& from, const Array<PrimExpr>& to) {
  Array<PrimExpr> common = broadcast_type_shape(from, to);
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < to.size(); ++i) fits = relay::may_equal(common[i], to[i]);
  if (!fits)
    throw Error(TypeError) << "a tensor of shape " << to_text(from) << " cannot be broadcast to " << to_text(to);
}

bool broadcast_to_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  Array<PrimExpr> shape = query.attrs_as<InitOpAttrs>()->shape;
  require_broadcastable(data->shape, shape);
  query.result(TensorType(shape, data->dtype));
  return true;
}

bool broadcast_to_like_type(TypeQuery& query) {
  auto *data = query.tensor(0), *like = query.tensor(1);
  if (!data || !like) return false;
  require_broadcastable(data->shape, like->shape);
  query.result(TensorType(like->shape, data->dtype));
  return true;
}

bool collapse_sum_like_type(TypeQuery& query) {
  auto *data = query.tensor(0), *like = query.tensor(1);
  if (!data || !like) return false;
  require_broadcastable(like->shape, data->shape);
  query.result(TensorType(like->shape, data->dtype));
  return true;
}

bool collapse_sum_to_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  Array<PrimExpr> shape = query.attrs_as<InitOpAttrs>()->shape;
  require_broadcastable(shape, data->shape);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors broadcast_to(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::broadcast_to(in[0], tensor_of(out)->shape)};
}

Tensors collapse_sum(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::collapse_sum(in[0], tensor_of(out)->shape)};
}

bool shape_of_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType({PrimExpr(rank_of(data))}, query.attrs_as<ShapeOfAttrs>()->dtype));
  return true;
}

bool ndarray_size_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  query.result(TensorType(Array<PrimExpr>(), query.attrs_as<NdarraySizeAttrs>()->dtype));
  return true;
}

}  // namespace

static void repeat_records() {
  OpRecord("tile")
      .doc("The whole tensor several times along each dimension.")
      .attrs<TileAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Tile", tile_type)
      .fusion(Fusion::Broadcast)
      .moves(Moves::Repeat)
      .precision(Precision::Follow)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::tile(in[0], attrs.as<TileAttrs>()->reps)};
      });
  OpRecord("repeat")
      .doc("Each element several times along one axis.")
      .attrs<RepeatAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Repeat", repeat_type)
      .fusion(Fusion::Broadcast)
      .moves(Moves::Repeat)
      .precision(Precision::Follow)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<RepeatAttrs>();
        return Tensors{topi::repeat(in[0], attrs->repeats, repeat_axis(attrs, rank_of(in[0])))};
      });
  OpRecord("sliding_window")
      .doc("All windows of a tensor: first which window, then where in it.")
      .attrs<SlidingWindowAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("SlidingWindow", sliding_window_type)
      .fusion(Fusion::Opaque)
      .moves(Moves::Repeat)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<SlidingWindowAttrs>();
        return Tensors{
            topi::sliding_window(in[0], normal_axis(attrs->axis, rank_of(in[0])), attrs->window_shape, attrs->strides)};
      });
  OpRecord("broadcast_to")
      .doc("Broadcast to a shape: extents of 1 repeated, dimensions added in front.")
      .input("data", "the input")
      .support_level(4)
      .type("BroadCastTo", broadcast_to_type)
      .fusion(Fusion::Broadcast)
      .moves(Moves::Repeat)
      .precision(Precision::Follow)
      .evaluate(evaluate_broadcast)
      .compute(broadcast_to);
  OpRecord("broadcast_to_like")
      .doc("Broadcast to the shape of another tensor.")
      .input("data", "the input")
      .input("broadcast_type", "what has the shape")
      .support_level(10)
      .type("BroadCastToLike", broadcast_to_like_type)
      .fusion(Fusion::Broadcast)
      .moves(Moves::Repeat)
      .concrete_form(concrete_broadcast)
      .compute(broadcast_to);
  OpRecord("collapse_sum_like")
      .doc("Summed over the dimensions that were broadcast from the shape of another tensor.")
      .input("data", "the input")
      .input("collapse_type", "what has the shape")
      .support_level(10)
      .type("CollapseSumLike", collapse_sum_like_type)
      .fusion(Fusion::Reduction)
      .concrete_form(concrete_collapse_sum)
      .compute(collapse_sum);
  OpRecord("collapse_sum_to")
      .doc("Summed over the dimensions that were broadcast from a shape.")
      .input("data", "the input")
      .input("shape", "the shape")
      .support_level(4)
      .type("CollapseSumTo", collapse_sum_to_type)
      .fusion(Fusion::Reduction)
      .compute(collapse_sum);
  OpRecord("shape_of")
      .doc("The extents as a vector.")
      .attrs<ShapeOfAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("ShapeOf", shape_of_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::shape_of(in[0], attrs.as<ShapeOfAttrs>()->dtype)};
      });
  OpRecord("ndarray_size")
      .doc("The number of elements.")
      .attrs<NdarraySizeAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("NdarraySize", ndarray_size_type)
      .fusion(Fusion::Injective)
      .stateful(false)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::ndarray_size(in[0], attrs.as<NdarraySizeAttrs>()->dtype)};
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily repeat_family{repeat_records};

}  // namespace tessera::op
