// Gradients of operators over windows that are no contractions of data and weight: image.dilation2d, nn.correlation,
// and the gradients of pools. The windows are laid out as tensors of their own.

#include <limits>

#include "ir/prim/ops.h"
#include "op/gradient/expansion.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/index.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/reduce.h"
#include "tir/layout.h"
#include "topi/nn/conv.h"
#include "topi/nn/pool.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::make_attrs;
using relay::make_ints;
using relay::make_scalar;
using relay::zeros_like;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t number(const PrimExpr& value) { return constant_of(value, "a number that describes windows"); }

/// Windows along one axis of what lies at `first`, `first + step`, ...: each has `size` elements, `gap` apart.
struct Windows {
  int64_t count, size, step = 1, gap = 1, first = 0;

  /// Their elements in place of the axis, as (count, size).
  Expr of(const Expr& x, int axis) const {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < size; ++k) indices.push_back(first + i * step + k * gap);
    return taken(x, relay::reshape(make_ints(indices), {extent(count), extent(size)}), axis);
  }
};

/// `x` with a border on the given axes.
Expr padded(const Expr& x, size_t rank, const std::vector<int>& axes, const Array<PrimExpr>& padding, double value,
            DataType dtype) {
  Array<Array<PrimExpr>> width(rank, {PrimExpr(0), PrimExpr(0)});
  for (size_t i = 0; i < axes.size(); ++i)
    width.set(static_cast<size_t>(axes[i]), {padding[i], padding[i + axes.size()]});
  return call_op("nn.pad", {x, make_scalar(value, dtype)},
                 make_attrs<relay::PadAttrs>([&](auto& a) { a.pad_width = width; }));
}

/// The greatest over each window of data plus filter.
Exprs dilation2d_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::Dilation2DAttrs>();
  auto* result = tensor_of(relay::checked_type(Expr(call)));
  Array<PrimExpr> kernel =
      convert_shape(make_layout(attrs->kernel_layout), make_layout("IHW"), arg_type(call, 1)->shape);
  Array<PrimExpr> counts = convert_shape(make_layout(attrs->data_layout), make_layout("NCHW"), result->shape);
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    DataType dtype = arg_type(call, 0)->dtype;
    Expr x = padded(in_layout(args[0], attrs->data_layout, "NCHW"), 4, {2, 3}, topi::full_padding(attrs->padding, 2),
                    -kInfinity, dtype);
    Expr filter = in_layout(args[1], attrs->kernel_layout, "IHW");
    for (size_t i = 2; i-- > 0;) {
      Windows windows{number(counts[i + 2]), number(kernel[i + 1]), number(attrs->strides[i]),
                      number(attrs->dilations[i])};
      x = windows.of(x, static_cast<int>(i) + 2);
    }
    filter = relay::reshape(filter, {kernel[0], extent(1), kernel[1], extent(1), kernel[2]});
    Expr sums = relay::add(relay::cast(x, result->dtype), relay::cast(filter, result->dtype));
    return in_layout(relay::reduce("max", sums, {extent(3), extent(5)}), "NCHW", attrs->data_layout);
  });
}

/// Windows of the first images against those of the second that lie nearby, on a grid of displacements.
Exprs correlation_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::CorrelationAttrs>();
  auto *data = arg_type(call, 0), *result = tensor_of(relay::checked_type(Expr(call)));
  const int radius = attrs->max_displacement / attrs->stride2, side = 2 * radius + 1, size = attrs->kernel_size;
  return expanded_gradient(call, grad, [&](const Exprs& args) {
    auto image = [&](size_t i) {
      return padded(args[i], 4, {2, 3}, topi::full_padding(attrs->padding, 2), 0, data->dtype);
    };
    Expr a = image(0), b = image(1);
    for (int axis : {3, 2}) {  // -> (n, c, height, size, width, size) and with displacements before height and width
      int64_t count = known_extent(result, static_cast<size_t>(axis));
      Windows windows{count, size, attrs->stride1, 1, attrs->max_displacement};
      a = windows.of(a, axis);
      windows.first = 0;
      Windows moves{side, attrs->stride1 * (count - 1) + size, attrs->stride2, 1,
                    attrs->max_displacement - static_cast<int64_t>(radius) * attrs->stride2};
      b = windows.of(moves.of(b, axis), axis + 1);
    }
    // a: (n, c, y, ky, x, kx); b: (n, c, dy, y, ky, dx, x, kx)
    a = relay::expand_dims(relay::expand_dims(a, 4), 2);
    Expr alike = attrs->is_multiply ? relay::multiply(a, b) : call_op("abs", {relay::subtract(a, b)});
    Expr total = relay::sum(alike, {extent(1), extent(4), extent(7)});  // (n, dy, y, dx, x)
    total =
        relay::reshape(relay::transpose(total, {extent(0), extent(1), extent(3), extent(2), extent(4)}), result->shape);
    double count = static_cast<double>(known_extent(data, 1)) * size * size;
    return relay::divide(total, make_scalar(count, data->dtype));
  });
}

const relay::PoolAttrs* pool_attrs(const Call* call) {
  auto* out = cast_or_null<relay::PoolAttrs>(call->attrs.get());
  ICHECK(out) << "the type rule of a pool's gradient has looked at its attributes";
  return out;
}

/// A window's gradient went to its greatest element, the first of equals; what reaches that element is the window's.
Exprs max_pool_grad_gradient(const Call* call, const Expr& grad) {
  auto* attrs = pool_attrs(call);
  auto *windows_type = arg_type(call, 0), *data = arg_type(call, 1);
  const size_t rank = data->shape.size(), spatial = attrs->pool_size.size();
  std::vector<int> axes = topi::spatial_axes(attrs->layout, spatial);
  Array<PrimExpr> padding = topi::full_padding(attrs->padding, spatial), order, flat = windows_type->shape, behind;
  for (size_t i = 0; i < spatial && attrs->ceil_mode; ++i)  // room for the last window
    padding.set(i + spatial, padding[i + spatial] + attrs->strides[i] - 1);
  int at = 0;
  for (size_t i = 0; i < rank; ++i) {
    order.push_back(extent(at++));
    if (std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end()) behind.push_back(extent(at++));
  }
  for (const PrimExpr& dimension : behind) order.push_back(dimension);
  flat.push_back(extent(-1));
  auto elements = [&](const Expr& of, double border) {
    Expr x = padded(of, rank, axes, padding, border, data->dtype);
    for (size_t axis = rank; axis-- > 0;) {
      auto found = std::find(axes.begin(), axes.end(), static_cast<int>(axis));
      if (found == axes.end()) continue;
      size_t i = static_cast<size_t>(found - axes.begin());
      Windows windows{known_extent(windows_type, axis), number(attrs->pool_size[i]), number(attrs->strides[i]),
                      number(attrs->dilation[i])};
      x = windows.of(x, static_cast<int>(axis));
    }
    return relay::reshape(relay::transpose(x, order), flat);
  };
  const int last = static_cast<int>(rank);
  Expr greatest =
      call_op("argmax", {elements(call->args[1], -kInfinity)}, make_attrs<relay::ArgReduceAttrs>([&](auto& a) {
                a.axis = {extent(last)};
                a.keepdims = true;
              }));
  Expr reached = call_op("gather", {elements(grad, 0), greatest},
                         make_attrs<relay::GatherAttrs>([&](auto& a) { a.axis = PrimExpr(last); }));
  return {relay::reshape_like(reached, call->args[0]), zeros_like(call->args[1])};
}

/// The gradient of a mean is a mean of gradients, and the other way round.
Exprs avg_pool_grad_gradient(const Call* call, const Expr& grad) {
  std::string name = "nn.avg_pool" + std::to_string(pool_attrs(call)->pool_size.size()) + "d";
  return {call_op(name, {grad}, call->attrs), zeros_like(call->args[1])};
}

}  // namespace

static void window_gradients() {
  set_gradients({
      {"image.dilation2d", dilation2d_gradient},
      {"nn.correlation", correlation_gradient},
      {"nn.max_pool2d_grad", max_pool_grad_gradient},
      {"nn.avg_pool2d_grad", avg_pool_grad_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily window_gradient_family{window_gradients, FillOrder::MoreSlots};

}  // namespace tessera::op
