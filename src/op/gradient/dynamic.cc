#include "op/gradient/dynamic.h"

#include "base/dtypes.h"
#include "op/gradient/separable.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/search.h"
#include "relay/attrs/transform.h"
#include "topi/nn/pool.h"

namespace tessera::op {

using namespace relay;
using Call = relay::Call;

namespace {

Expr numbers(int count, int64_t value) { return make_ints(std::vector<int64_t>(static_cast<size_t>(count), value)); }

/// `count` numbers of a vector, from `begin` on.
Expr entries(const Expr& vector, int64_t begin, int64_t count) {
  return strided_slice(vector, {make_const(kInt64, begin)}, {make_const(kInt64, begin + count)});
}

Expr dynamic_reshape(const Expr& x, const Expr& shape) {
  return call_op("dyn.reshape", {x, shape}, make_attrs<ReshapeAttrs>([](auto& a) { a.newshape = Array<PrimExpr>(); }));
}

}  // namespace

Expr shape_vector_of(const Expr& tensor) {
  return call_op("shape_of", {tensor}, make_attrs<ShapeOfAttrs>([](auto& a) { a.dtype = kInt64; }));
}

Expr placed_by(const Expr& like, const Expr& part, const Expr& begin, const Expr& end, const Expr& strides) {
  return call_op("strided_set", {zeros_like(like), part, begin, end, strides});
}

Expr part_like(const Expr& x, const Expr& begin, const Expr& like, int rank) {
  Expr part = call_op("dyn.strided_slice", {x, begin, add(begin, shape_vector_of(like)), numbers(rank, 1)},
                      make_attrs<StridedSliceAttrs>([](auto&) {}));
  return reshape_like(part, like);
}

Expr untiled(const Expr& grad, const Expr& data, int rank, const Expr& reps, int count) {
  auto in_front = [](const Expr& vector, int missing) {
    return missing > 0 ? concatenate({numbers(missing, 1), vector}, 0) : vector;
  };
  const int out_rank = std::max(rank, count);
  Expr extents = rank ? shape_vector_of(data) : numbers(0, 1);
  Expr apart = stack({in_front(cast(reps, kInt64), out_rank - count), in_front(extents, out_rank - rank)}, 1);
  Array<PrimExpr> copies;
  for (int i = 0; i < out_rank; ++i) copies.push_back(PrimExpr(2 * i));
  return reshape_like(sum(dynamic_reshape(grad, reshape(apart, {PrimExpr(-1)})), copies), data);
}

namespace {

Exprs with_zeros(const Call* call, const Expr& of_data) {
  Exprs out{of_data};
  for (size_t i = 1; i < call->args.size(); ++i) out.push_back(zeros_like(call->args[i]));
  return out;
}

Exprs slice_gradient(const Call* call, const Expr& grad) {
  Expr begin = cast(call->args[1], kInt64), end = cast(call->args[2], kInt64), strides = call->args[3];
  if (call->attrs_as<StridedSliceAttrs>()->slice_mode == "size") {  // the end says how many; -1: all from there on
    int64_t count = known_extent(arg_type(call, 1), 0);
    Expr sizes = entries(shape_vector_of(call->args[0]), 0, count), zero = make_scalar(0, kInt64);
    begin = where(less(begin, zero), add(begin, sizes), begin);
    end = where(less(end, zero), sizes, add(begin, end));
    strides = ones_like(begin);
  }
  return with_zeros(call, placed_by(call->args[0], grad, begin, end, strides));
}

Exprs dynamic_tile_gradient(const Call* call, const Expr& grad) {
  int count = static_cast<int>(known_extent(arg_type(call, 1), 0));
  return with_zeros(call, untiled(grad, call->args[0], rank_of(arg_type(call, 0)), call->args[1], count));
}

/// The widths of one dimension's border, as those of the last of three.
Expr widths_of(const Expr& width, int axis) {
  Expr row = strided_slice(width, {PrimExpr(axis), PrimExpr(0)}, {PrimExpr(axis + 1), PrimExpr(2)});
  return concatenate({reshape(numbers(4, 0), {PrimExpr(2), PrimExpr(2)}), row}, 0);
}

Exprs pad_gradient(const Call* call, const Expr& grad) {
  const int rank = rank_of(arg_type(call, 0));
  Expr width = cast(call->args[1], kInt64);
  if (call->attrs_as<PadAttrs>()->pad_mode != "constant") {
    std::vector<int> axes;
    for (int i = 0; i < rank; ++i) axes.push_back(i);
    return with_zeros(call, separable_gradient(call, grad, axes, [&](const Expr& identity, size_t i) {
                        Expr widths = widths_of(width, static_cast<int>(i));
                        return call_op("dyn.nn.pad", {identity, widths, call->args[2]}, call->attrs);
                      }));
  }
  Expr before = strided_slice(width, {PrimExpr(0), PrimExpr(0)}, {PrimExpr(rank), PrimExpr(1)});
  Expr inside = part_like(grad, reshape(before, {PrimExpr(-1)}), call->args[0], rank);
  Expr border = call_op("cast_like", {subtract(sum(grad), sum(inside)), call->args[2]});
  return {inside, zeros_like(call->args[1]), border};
}

/// What resizes one axis of images: applied to the identity as channels of an image that is one element wide.
Expr resized_along(const Call* call, const Expr& identity, size_t i) {
  auto column = [&](int spatial) { return expand_dims(identity, 3, spatial - 1); };
  auto matrix = [](const Expr& image, int spatial) {
    Array<PrimExpr> wide;
    for (int k = 1; k < spatial; ++k) wide.push_back(PrimExpr(2 + k));
    return squeeze(image, wide);
  };
  auto one = [](const Expr& like) { return ones_like(like); };
  const Exprs& args = call->args;
  if (auto* up = call->attrs.as<UpSamplingAttrs>()) {
    Attrs plain = make_attrs<UpSamplingAttrs>([&](auto& a) { a = *up, a.layout = "NCHW"; });
    return matrix(call_op("dyn.nn.upsampling", {column(2), args[i + 1], one(args[1])}, plain), 2);
  }
  if (auto* up = call->attrs.as<UpSampling3DAttrs>()) {
    Attrs plain = make_attrs<UpSampling3DAttrs>([&](auto& a) { a = *up, a.layout = "NCDHW"; });
    return matrix(call_op("dyn.nn.upsampling3d", {column(3), args[i + 1], one(args[1]), one(args[1])}, plain), 3);
  }
  Attrs plain = make_attrs<Resize2DAttrs>(
      [&](auto& a) { a = *call->attrs_as<Resize2DAttrs>(), a.layout = "NCHW", a.out_dtype = DataType::Void(); });
  Expr size = concatenate({entries(cast(args[1], kInt64), static_cast<int64_t>(i), 1), numbers(1, 1)}, 0);
  return matrix(call_op("dyn.image.resize2d", {column(2), size, args[2]}, plain), 2);
}

Exprs resize_gradient(const Call* call, const Expr& grad) {
  std::vector<int> axes;
  if (auto* up = call->attrs.as<UpSamplingAttrs>()) {
    axes = topi::spatial_axes(up->layout, 2);
  } else if (auto* up3 = call->attrs.as<UpSampling3DAttrs>()) {
    axes = topi::spatial_axes(up3->layout, 3);
  } else {
    auto* attrs = call->attrs_as<Resize2DAttrs>();
    if (attrs->coordinate_transformation_mode == "tf_crop_and_resize")
      throw Error(NotImplementedError)
          << "dyn.image.resize2d by tf_crop_and_resize has no gradient: that of its roi is missing";
    axes = topi::spatial_axes(attrs->layout, 2);
  }
  return with_zeros(call, separable_gradient(call, grad, axes, [&](const Expr& identity, size_t i) {
                      return resized_along(call, identity, i);
                    }));
}

Exprs dynamic_topk_gradient(const Call* call, const Expr& grad) {
  auto* given = call->attrs_as<TopkAttrs>();
  if (given->ret_type == "indices") return zero_gradients(call, grad);
  Attrs attrs = make_attrs<TopkAttrs>([&](auto& a) { a = *given, a.ret_type = "indices"; });
  Expr values = given->ret_type == "both" ? make_get_item(grad, 0) : grad;
  int axis = normal_axis(given->axis, rank_of(arg_type(call, 0)));
  Expr indices = call_op("dyn.topk", call->args, attrs);
  return with_zeros(call, scatter_add(zeros_like(call->args[0]), indices, values, axis));
}

Exprs dynamic_one_hot_gradient(const Call* call, const Expr& grad) {
  DataType flag = DataType::Int(32);
  Attrs attrs = make_attrs<OneHotAttrs>([&](auto& a) { a = *call->attrs_as<OneHotAttrs>(), a.dtype = flag; });
  Expr is_hot =
      call_op("dyn.one_hot", {call->args[0], make_scalar(1, flag), make_scalar(0, flag), call->args[3]}, attrs);
  Expr zero = zeros_like(grad);
  auto total = [&](const Expr& part, size_t i) { return call_op("cast_like", {sum(part), call->args[i]}); };
  return {zeros_like(call->args[0]), total(where(is_hot, grad, zero), 1), total(where(is_hot, zero, grad), 2),
          zeros_like(call->args[3])};
}

}  // namespace

static void dynamic_gradients() {
  set_gradients({
      {"dyn.strided_slice", slice_gradient},
      {"dyn.tile", dynamic_tile_gradient},
      {"dyn.nn.pad", pad_gradient},
      {"dyn.nn.upsampling", resize_gradient},
      {"dyn.nn.upsampling3d", resize_gradient},
      {"dyn.image.resize2d", resize_gradient},
      {"dyn.topk", dynamic_topk_gradient},
      {"dyn.one_hot", dynamic_one_hot_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily dynamic_gradient_family{dynamic_gradients,
                                                                                FillOrder::MoreSlots};

}  // namespace tessera::op
