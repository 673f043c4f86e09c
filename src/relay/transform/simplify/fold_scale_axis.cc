#include "relay/transform/simplify/fold_scale_axis.h"

#include <algorithm>

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"
#include "runtime/function/element.h"

namespace tessera::relay {
namespace {

/// Constants > 0, possibly moved.
bool is_positive(const Expr& expr) {
  auto* call = expr.as<Call>();
  if (call) return moves_by_index(call) && is_positive(call->args[0]);
  auto* constant = expr.as<Constant>();
  if (!constant || constant->data.device().device_type != kDLCPU) return false;
  DataType dtype = constant->data.dtype();
  const char* data = constant->data.data<char>();
  for (int64_t i = 0, n = constant->data.size(); i < n; ++i)
    if (!(read_float(dtype, data + i * dtype.bytes()) > 0)) return false;
  return true;
}

/// How `factor` lies against `data`: the axes of extent 1 that are not among `axes`; nothing when it varies elsewhere.
std::optional<std::vector<int64_t>> spare_axes(const TensorType& data, const TensorType& factor,
                                               const std::vector<int>& axes) {
  if (factor->shape.size() > data->shape.size()) return std::nullopt;
  size_t base = data->shape.size() - factor->shape.size();
  std::vector<int64_t> spare;
  for (size_t i = 0; i < data->shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end()) {
      if (i < base || !structural_equal(data->shape[i], factor->shape[i - base])) return std::nullopt;
    } else if (i >= base) {
      if (!is_one(factor->shape[i - base])) return std::nullopt;
      spare.push_back(static_cast<int64_t>(i - base));
    }
  }
  return spare;
}

/// What a layer computes anew in every run, such as the gate of squeeze-and-excitation. A weight that takes it in could no
/// longer be prepared when the model is compiled.
bool is_of_a_layer(const Expr& factor) {
  constexpr size_t kMaxSeen = 32;
  std::vector<Expr> seen{factor};
  for (size_t i = 0; i < seen.size() && i < kMaxSeen; ++i) {
    auto* call = seen[i].as<Call>();
    auto* op = call ? call->op.as<OpNode>() : nullptr;
    if (!op) continue;
    if (fusion_of(Op(op)) == Fusion::OutputElementwise) return true;
    seen.insert(seen.end(), call->args.begin(), call->args.end());
  }
  return false;
}

}  // namespace

bool broadcasts_along(const Expr& data, const Expr& other, const std::vector<int>& axes) {
  return spare_axes(tensor_type(data), tensor_type(other), axes).has_value();
}

Expr factors_along(const Expr& data, const Expr& factor, const ScaleMessage& message) {
  TensorType type = tensor_type(data), given = tensor_type(factor);
  if ((message.require_positive && !is_positive(factor)) || is_of_a_layer(factor)) return nullptr;
  if (given->shape.empty()) {  // one factor for all
    std::vector<PrimExpr> shape;
    for (int axis : message.axes) shape.push_back(type->shape[static_cast<size_t>(axis)]);
    return fixed_ints(shape) ? broadcast_to(factor, shape) : nullptr;
  }
  auto spare = spare_axes(type, given, message.axes);
  if (!spare) return nullptr;
  return spare->empty() ? factor : squeeze(factor, int_array(*spare));
}

bool keeps_positive_scale(const Call* call) {
  auto* op = call->op.as<OpNode>();
  return op && has_flag(op, kKeepsPositiveScale);
}

bool is_sum(const Call* call) { return op_name(call) == ops::add || op_name(call) == ops::subtract; }

std::optional<LayerChannels> scaled_layer(const Call* call) {
  std::optional<LayerChannels> layer = layer_channels(call);
  const bool keeps_dtype = layer && dtype_of(call->args[1]) == dtype_of(Expr(call));  // of a weight that is scaled
  return keeps_dtype ? layer : std::nullopt;
}

Pass fold_scale_axis_pass() {
  return sequential({pass(backward_fold_scale_axis), pass(forward_fold_scale_axis)}, pass_info(fold_scale_axis_pass));
}

}  // namespace tessera::relay
