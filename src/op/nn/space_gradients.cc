#include <cmath>

#include "ir/prim_ops.h"
#include "op/nn/gradients.h"
#include "op/rules.h"
#include "relay/attrs/image.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/pool.h"
#include "relay/make.h"
#include "topi/nn/conv.h"
#include "topi/nn/pool.h"

namespace tessera::op {

using namespace relay;

namespace {

/// A pool of one dimension as one of two, the first of extent 1.
template <class A>
Attrs with_height(const PoolAttrs* attrs) {
  auto spread = [](const Array<PrimExpr>& values, int first) {
    Array<PrimExpr> out;
    for (const PrimExpr& value : values) {
      out.push_back(PrimExpr(first));
      out.push_back(value);
    }
    return out;
  };
  return make_attrs<A>([&](auto& a) {
    a.pool_size = spread(attrs->pool_size, 1);
    a.strides = spread(attrs->strides, 1);
    a.dilation = spread(attrs->dilation, 1);
    a.padding = spread(topi::full_padding(attrs->padding, 1), 0);
    a.ceil_mode = attrs->ceil_mode;
    std::string layout = attrs->layout.str();
    a.layout = layout.replace(layout.find('W'), 1, "HW");
    if constexpr (std::is_same_v<A, AvgPool2DAttrs>)
      a.count_include_pad = static_cast<const AvgPoolAttrs*>(attrs)->count_include_pad;
  });
}

template <class A>
Expr pool_grad(const char* name, const Expr& grad, const Expr& data, const Attrs& given) {
  auto* attrs = cast_or_null<PoolAttrs>(given.get());
  const size_t spatial = attrs->pool_size.size();
  if (spatial == 2) return call_op(name, {grad, data}, given);
  if (spatial != 1) throw Error(NotImplementedError) << "pools of " << spatial << " dimensions have no gradient";
  int axis = topi::spatial_axes(attrs->layout, 1)[0];
  Expr out = call_op(name, {expand_dims(grad, axis), expand_dims(data, axis)}, with_height<A>(attrs));
  return squeeze(out, {PrimExpr(axis)});
}

/// The pool of fixed windows that an adaptive or global pool of two dimensions is, where its windows are all alike.
template <class A>
Attrs fixed_pool(const Expr& call) {
  String layout;
  if (auto* global = call.as<relay::Call>()->attrs.as<GlobalPool2DAttrs>()) {
    layout = global->layout;
  } else {
    layout = call_attrs<AdaptivePoolAttrs>(call)->layout;
  }
  std::vector<int> axes;
  try {
    axes = topi::spatial_axes(layout, 2);
  } catch (const Error&) {
    throw Error(NotImplementedError) << "only pools of two dimensions have a gradient";
  }
  const Array<PrimExpr>&from = tensor_type(args_of(call)[0])->shape, &to = tensor_type(call)->shape;
  if (from.size() != 4) throw Error(NotImplementedError) << "only pools of two dimensions have a gradient";
  Array<PrimExpr> window;
  for (int axis : axes) {
    const int64_t *n = as_int(from[static_cast<size_t>(axis)]), *m = as_int(to[static_cast<size_t>(axis)]);
    if (!n || !m || *n % *m != 0)
      throw Error(NotImplementedError) << "an adaptive pool whose windows differ in size has no gradient";
    window.push_back(PrimExpr(static_cast<int>(*n / *m)));
  }
  return make_attrs<A>([&](auto& a) {
    a.pool_size = a.strides = window;
    a.layout = layout;
  });
}

Expr reshaped_slice(const Expr& grad, const Array<PrimExpr>& begin, const Array<PrimExpr>& shape) {
  Array<PrimExpr> end;
  for (size_t i = 0; i < shape.size(); ++i) end.push_back(begin[i] + shape[i]);
  return strided_slice(grad, begin, end);
}

}  // namespace

Array<Expr> max_pool_gradient(const Expr& call, const Expr& grad) {
  return {pool_grad<MaxPool2DAttrs>("nn.max_pool2d_grad", grad, args_of(call)[0], call.as<relay::Call>()->attrs)};
}
Array<Expr> avg_pool_gradient(const Expr& call, const Expr& grad) {
  return {pool_grad<AvgPool2DAttrs>("nn.avg_pool2d_grad", grad, args_of(call)[0], call.as<relay::Call>()->attrs)};
}
Array<Expr> adaptive_max_pool_gradient(const Expr& call, const Expr& grad) {
  return {pool_grad<MaxPool2DAttrs>("nn.max_pool2d_grad", grad, args_of(call)[0], fixed_pool<MaxPool2DAttrs>(call))};
}
Array<Expr> adaptive_avg_pool_gradient(const Expr& call, const Expr& grad) {
  return {pool_grad<AvgPool2DAttrs>("nn.avg_pool2d_grad", grad, args_of(call)[0], fixed_pool<AvgPool2DAttrs>(call))};
}

/// Each element was copied to a block: its gradient is the sum over that block.
Array<Expr> upsampling_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<UpSamplingAttrs>(call);
  bool is_whole = attrs->scale_h == std::floor(attrs->scale_h) && attrs->scale_w == std::floor(attrs->scale_w);
  if (attrs->method != "nearest_neighbor" || attrs->align_corners || !is_whole)
    throw Error(NotImplementedError) << "only nearest_neighbor upsampling by whole factors has a gradient";
  Attrs blocks = make_attrs<AvgPool2DAttrs>([&](auto& a) {
    a.pool_size = {PrimExpr(static_cast<int>(attrs->scale_h)), PrimExpr(static_cast<int>(attrs->scale_w))};
    a.strides = a.pool_size;
    a.layout = attrs->layout;
  });
  Expr mean = call_op("nn.avg_pool2d", {grad}, blocks);
  return {multiply(mean, number_like(attrs->scale_h * attrs->scale_w, args_of(call)[0]))};
}

Array<Expr> pad_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<PadAttrs>(call);
  if (attrs->pad_mode != "constant")
    throw Error(NotImplementedError) << "only a border of a constant has a gradient, not \"" << attrs->pad_mode << "\"";
  auto [before, after] = split_pairs(attrs->pad_width);
  Expr inside = reshaped_slice(grad, before, tensor_type(args_of(call)[0])->shape);
  Expr border = subtract(sum(grad), sum(inside));
  DataType of_value = tensor_type(args_of(call)[1])->dtype;
  return {inside, of_value == tensor_type(call)->dtype ? border : cast(border, of_value)};
}

Array<Expr> dilate_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<DilateAttrs>(call);
  const Array<PrimExpr>& shape = tensor_type(call)->shape;
  return {strided_slice(grad, Array<PrimExpr>(shape.size(), PrimExpr(0)), shape, attrs->strides)};
}

Array<Expr> space_to_depth_gradient(const Expr& call, const Expr& grad) {
  SubPixelAttrs attrs(*call_attrs<SubPixelAttrs>(call));
  attrs.mode = "DCR";  // the one order that space_to_depth has
  return {call_op("nn.depth_to_space", {grad}, make(std::move(attrs)))};
}
Array<Expr> depth_to_space_gradient(const Expr& call, const Expr& grad) {
  if (call_attrs<SubPixelAttrs>(call)->mode != "DCR")
    throw Error(NotImplementedError) << "depth_to_space has a gradient only in mode DCR";
  return {call_op("nn.space_to_depth", {grad}, call.as<relay::Call>()->attrs)};
}

Array<Expr> space_to_batch_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<SpaceToBatchNDAttrs>(call);
  return {call_op("nn.batch_to_space_nd", {grad}, make_attrs<BatchToSpaceNDAttrs>([&](auto& a) {
                    a.block_shape = attrs->block_shape;
                    a.crops = attrs->paddings;
                  }))};
}
Array<Expr> batch_to_space_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<BatchToSpaceNDAttrs>(call);
  return {call_op("nn.space_to_batch_nd", {grad}, make_attrs<SpaceToBatchNDAttrs>([&](auto& a) {
                    a.block_shape = attrs->block_shape;
                    a.paddings = attrs->crops;
                  }))};
}

}  // namespace tessera::op
