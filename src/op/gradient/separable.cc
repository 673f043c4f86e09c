#include "op/gradient/separable.h"

#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::call_op;
using relay::make_attrs;

/// Elements that borders repeat get the gradients of their copies.
Exprs mirror_pad_gradient(const relay::Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::MirrorPadAttrs>();
  std::vector<int> axes;
  for (size_t i = 0; i < attrs->pad_width.size(); ++i) axes.push_back(static_cast<int>(i));
  return {separable_gradient(call, grad, axes, [&](const Expr& identity, size_t i) {
    return call_op("nn.mirror_pad", {identity}, make_attrs<relay::MirrorPadAttrs>([&](auto& a) {
                     a.mode = attrs->mode;
                     a.pad_width = {{0, 0}, {0, 0}, attrs->pad_width[i]};
                   }));
  })};
}

/// The windows of an axis stand before all elements of windows: they are brought together, as one axis of positions that
/// elements were copied to.
Exprs sliding_window_gradient(const relay::Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::SlidingWindowAttrs>();
  auto* data = arg_type(call, 0);
  const size_t rank = data->shape.size(), first = static_cast<size_t>(normal_axis(attrs->axis, rank_of(data))),
               moved = rank - first;
  const TensorTypeNode* result = relay::checked_type(Expr(call)).as<TensorTypeNode>();
  Array<PrimExpr> order, shape;
  std::vector<int> axes;
  auto number = [](int64_t value) { return PrimExpr(static_cast<int>(value)); };
  for (size_t i = 0; i < first; ++i) {
    order.push_back(number(static_cast<int64_t>(i)));
    shape.push_back(result->shape[i]);
  }
  for (size_t i = first; i < rank; ++i) {
    axes.push_back(static_cast<int>(i));
    order.push_back(number(static_cast<int64_t>(i)));
    order.push_back(number(static_cast<int64_t>(i + moved)));
    shape.push_back(number(known_extent(result, i) * known_extent(result, i + moved)));
  }
  Expr together = relay::reshape(relay::transpose(grad, order), shape);
  return {separable_gradient(call, together, axes, [&](const Expr& identity, size_t i) {
    Expr windows = call_op("sliding_window", {identity}, make_attrs<relay::SlidingWindowAttrs>([&](auto& a) {
                             a.axis = 2;
                             a.window_shape = {attrs->window_shape[i]};
                             a.strides = {attrs->strides[i]};
                           }));
    return relay::reshape(windows, {PrimExpr(0), PrimExpr(0), PrimExpr(-1)});
  })};
}

}  // namespace

Expr identity_matrix(int64_t size, DataType dtype) {
  std::vector<int64_t> positions(static_cast<size_t>(size));
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
  return call_op("one_hot", {relay::make_ints(positions), relay::make_scalar(1, dtype), relay::make_scalar(0, dtype)},
                 make_attrs<relay::OneHotAttrs>([&](auto& a) {
                   a.depth = static_cast<int>(size);
                   a.axis = -1;
                   a.dtype = dtype;
                 }));
}

Expr identity_of_extent(const Expr& tensor, int dimension, DataType dtype) {
  auto* type = relay::checked_type(tensor).as<TensorTypeNode>();
  if (const int64_t* size = as_int(type->shape[static_cast<size_t>(dimension)])) return identity_matrix(*size, dtype);
  DataType int64 = DataType::Int(64);
  Expr start = relay::make_scalar(0, int64), stop = extent_of(tensor, dimension, int64),
       step = relay::make_scalar(1, int64);
  Expr positions = call_op("arange", {start, stop, step}, make_attrs<relay::ArangeAttrs>([&](auto& a) {
                             a.start = start, a.stop = stop, a.step = step, a.dtype = int64;
                           }));
  return relay::cast(relay::equal(relay::expand_dims(positions, 1), relay::expand_dims(positions, 0)), dtype);
}

Expr times_matrix(const Expr& x, size_t rank, int axis, const Expr& matrix) {
  const int last = static_cast<int>(rank) - 1;
  Array<PrimExpr> order;
  for (int i = 0; i <= last; ++i) order.push_back(PrimExpr(i == axis ? last : i == last ? axis : i));
  auto dense = [&](const Expr& rows) {
    return call_op("nn.dense", {rows, matrix}, make_attrs<relay::DenseAttrs>([](auto&) {}));
  };
  if (rank == 1) return relay::squeeze(dense(relay::expand_dims(x, 0)), {PrimExpr(0)});
  if (axis == last) return dense(x);
  return relay::transpose(dense(relay::transpose(x, order)), order);
}

Expr separable_gradient(const relay::Call* call, const Expr& grad, const std::vector<int>& axes,
                        const AlongAxis& along) {
  auto *data = arg_type(call, 0), *result = relay::checked_type(Expr(call)).as<TensorTypeNode>();
  Expr out = result->dtype == data->dtype ? grad : relay::cast(grad, data->dtype);
  for (size_t i = 0; i < axes.size(); ++i) {
    Expr identity = relay::expand_dims(identity_of_extent(call->args[0], axes[i], data->dtype), 0);
    Expr matrix = relay::squeeze(along(identity, i), {PrimExpr(0)});
    out = times_matrix(out, data->shape.size(), axes[i], matrix);
  }
  return out;
}

static void separable_gradients() {
  set_gradients({
      {"nn.mirror_pad", mirror_pad_gradient},
      {"sliding_window", sliding_window_gradient},
  });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily separable_gradient_family{separable_gradients,
                                                                                  FillOrder::MoreSlots};

}  // namespace tessera::op
