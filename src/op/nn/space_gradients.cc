#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/prim/ops.h"
#include "op/gradient/separable.h"
#include "op/nn/gradients.h"
#include "op/rules.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/pool.h"
#include "relay/make.h"
#include "topi/nn/pool.h"

namespace tessera::op {

using namespace relay;

namespace {

/// The gradient of a pool of any number of dimensions: the operators have their names from the first of them.
Expr pool_grad(const char* name, const Expr& grad, const Expr& data, const Attrs& given) {
  return call_op(name, {grad, data}, given);
}

/// Which windows an adaptive or global pool has along each spatial axis.
struct AdaptiveWindows {
  String layout;
  std::vector<int> axes;
  std::vector<int64_t> from, to;  // extents of the data and of the result
  bool are_alike = true;          // all windows of an axis have one size

  explicit AdaptiveWindows(const Expr& call) {
    const Array<PrimExpr>& data = tensor_type(args_of(call)[0])->shape;
    auto* global = call.as<relay::Call>()->attrs.as<GlobalPool2DAttrs>();
    layout = global ? global->layout : call_attrs<AdaptivePoolAttrs>(call)->layout;
    axes = topi::spatial_axes(layout, data.size() - 2);
    for (int axis : axes) {
      from.push_back(known_extent(tensor_type(args_of(call)[0]), static_cast<size_t>(axis)));
      to.push_back(known_extent(tensor_type(call), static_cast<size_t>(axis)));
      are_alike = are_alike && from.back() % to.back() == 0;
    }
  }

  int64_t begin(size_t i, int64_t at) const { return at * from[i] / to[i]; }
  int64_t end(size_t i, int64_t at) const { return ((at + 1) * from[i] + to[i] - 1) / to[i]; }
  /// The size of the largest window of an axis.
  int64_t largest(size_t i) const {
    int64_t out = 1;
    for (int64_t at = 0; at < to[i]; ++at) out = std::max(out, end(i, at) - begin(i, at));
    return out;
  }
  /// The elements of the windows of an axis, one window after the other; short windows repeat their last.
  std::vector<int64_t> elements(size_t i) const {
    std::vector<int64_t> out;
    for (int64_t at = 0; at < to[i]; ++at)
      for (int64_t k = 0; k < largest(i); ++k) out.push_back(std::min(begin(i, at) + k, end(i, at) - 1));
    return out;
  }
  /// The pool of fixed windows, one beside the other, that it is on these elements.
  template <class A>
  Attrs fixed_pool() const {
    Array<PrimExpr> window;
    for (size_t i = 0; i < axes.size(); ++i) window.push_back(PrimExpr(static_cast<int>(largest(i))));
    return make_attrs<A>([&](auto& a) {
      a.pool_size = a.strides = window;
      a.dilation = Array<PrimExpr>(axes.size(), PrimExpr(1));
      a.padding = Array<PrimExpr>(axes.size(), PrimExpr(0));
      a.layout = layout;
    });
  }
};

}  // namespace

Array<Expr> max_pool_gradient(const Expr& call, const Expr& grad) {
  return {pool_grad("nn.max_pool2d_grad", grad, args_of(call)[0], call.as<relay::Call>()->attrs)};
}
Array<Expr> avg_pool_gradient(const Expr& call, const Expr& grad) {
  return {pool_grad("nn.avg_pool2d_grad", grad, args_of(call)[0], call.as<relay::Call>()->attrs)};
}

/// Windows of different size are laid out side by side; an element gets what all its copies there get.
Array<Expr> adaptive_max_pool_gradient(const Expr& call, const Expr& grad) {
  AdaptiveWindows windows(call);
  const Expr& data = args_of(call)[0];
  Attrs pool = windows.fixed_pool<MaxPool2DAttrs>();
  if (windows.are_alike) return {pool_grad("nn.max_pool2d_grad", grad, data, pool)};
  Expr side_by_side = data;
  for (size_t i = 0; i < windows.axes.size(); ++i)
    side_by_side = call_op("take", {side_by_side, make_ints(windows.elements(i))},
                           make_attrs<TakeAttrs>([&](auto& a) { a.axis = PrimExpr(windows.axes[i]); }));
  Expr out = pool_grad("nn.max_pool2d_grad", grad, side_by_side, pool);
  for (size_t i = 0; i < windows.axes.size(); ++i) {
    Expr copies =
        call_op("take", {identity_matrix(windows.from[i], tensor_type(data)->dtype), make_ints(windows.elements(i))},
                make_attrs<TakeAttrs>([&](auto& a) { a.axis = PrimExpr(1); }));
    out = times_matrix(out, tensor_type(data)->shape.size(), windows.axes[i], copies);
  }
  return {out};
}

Array<Expr> adaptive_avg_pool_gradient(const Expr& call, const Expr& grad) {
  AdaptiveWindows windows(call);
  if (windows.are_alike)
    return {pool_grad("nn.avg_pool2d_grad", grad, args_of(call)[0], windows.fixed_pool<AvgPool2DAttrs>())};
  return {separable_gradient(call.as<relay::Call>(), grad, windows.axes, [&](const Expr& identity, size_t i) {
    return call_op("nn.adaptive_avg_pool1d", {identity}, make_attrs<AdaptivePool1DAttrs>([&](auto& a) {
                     a.output_size = {PrimExpr(static_cast<int>(windows.to[i]))};
                   }));
  })};
}

Expr whole_blocks_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call.as<relay::Call>()->attrs.as<UpSamplingAttrs>();
  if (!attrs || attrs->method != "nearest_neighbor" || attrs->align_corners) return nullptr;
  if (attrs->scale_h != std::floor(attrs->scale_h) || attrs->scale_w != std::floor(attrs->scale_w)) return nullptr;
  Attrs blocks = make_attrs<AvgPool2DAttrs>([&](auto& a) {
    a.pool_size = {PrimExpr(static_cast<int>(attrs->scale_h)), PrimExpr(static_cast<int>(attrs->scale_w))};
    a.strides = a.pool_size;
    a.layout = attrs->layout;
  });
  Expr mean = call_op("nn.avg_pool2d", {grad}, blocks);
  return multiply(mean, number_like(attrs->scale_h * attrs->scale_w, args_of(call)[0]));
}

static bool has_negative(const Array<PrimExpr>& widths) {
  return std::any_of(widths.begin(), widths.end(),
                     [](const PrimExpr& width) { return as_int(width) && *as_int(width) < 0; });
}

/// Where elements were cropped their gradient is 0: the border the other way round.
static Array<Expr> cropped_gradient(const Expr& call, const Expr& grad, const PadAttrs* attrs) {
  Array<Array<PrimExpr>> back;
  for (const Array<PrimExpr>& width : attrs->pad_width) back.push_back({0 - width[0], 0 - width[1]});
  Expr zero = relay::make_scalar(0, tensor_type(call)->dtype);
  Expr inside = call_op("nn.pad", {grad, zero}, make_attrs<PadAttrs>([&](auto& a) { a.pad_width = back; }));
  DataType of_value = tensor_type(args_of(call)[1])->dtype;
  return {inside, cast(subtract(sum(grad), sum(inside)), of_value)};
}

Array<Expr> pad_gradient(const Expr& call, const Expr& grad) {
  auto* attrs = call_attrs<PadAttrs>(call);
  if (attrs->pad_mode != "constant") {
    std::vector<int> axes;
    for (size_t i = 0; i < attrs->pad_width.size(); ++i) axes.push_back(static_cast<int>(i));
    Expr inside = separable_gradient(call.as<relay::Call>(), grad, axes, [&](const Expr& identity, size_t i) {
      return call_op("nn.pad", {identity, args_of(call)[1]}, make_attrs<PadAttrs>([&](auto& a) {
                       a.pad_mode = attrs->pad_mode;
                       a.pad_width = {{0, 0}, {0, 0}, attrs->pad_width[i]};
                     }));
    });
    return {inside, zeros_like(args_of(call)[1])};
  }
  auto [before, after] = split_pairs(attrs->pad_width);
  if (has_negative(before) || has_negative(after)) return cropped_gradient(call, grad, attrs);
  Array<PrimExpr> end;  // counted from behind, so that it means the same for any extent
  for (const PrimExpr& width : after)
    end.push_back(is_zero(width) ? PrimExpr(std::numeric_limits<int32_t>::max()) : 0 - width);
  Expr inside = strided_slice(grad, before, end);
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
  // The one order that space_to_depth has.
  Attrs attrs = changed_attrs<SubPixelAttrs>(call.as<relay::Call>()->attrs, [](auto& a) { a.mode = "DCR"; });
  return {call_op("nn.depth_to_space", {grad}, attrs)};
}
Array<Expr> depth_to_space_gradient(const Expr& call, const Expr& grad) {
  if (call_attrs<SubPixelAttrs>(call)->mode != "DCR") return copied_gradient(call.as<relay::Call>(), grad);
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
