#include "relay/transform/layout/channel_padding.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "relay/attrs/conv.h"
#include "relay/attrs/pool.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// What a vector costs that is filled by half, in whole ones.
constexpr double kHalfFilled = 2;

// Numbers of nn.reshape: as it is, the rest as it is, two become one, one becomes two.
constexpr int kKeep = 0, kKeepRest = -2, kMerge = -3, kSplit = -4;

Expr split_axis(const Expr& x, size_t axis, int64_t groups, int64_t each) {
  Array<PrimExpr> shape(axis, PrimExpr(kKeep));
  for (int64_t n : {int64_t{kSplit}, groups, each, int64_t{kKeepRest}}) shape.push_back(PrimExpr(static_cast<int>(n)));
  return reshape(x, shape);
}

Expr merge_axis(const Expr& x, size_t axis) {
  Array<PrimExpr> shape(axis, PrimExpr(kKeep));
  shape.push_back(PrimExpr(kMerge));
  shape.push_back(PrimExpr(kKeepRest));
  return reshape(x, shape);
}

/// Multiplications for each element of the image: what costs of layers are compared by.
double size_of(const Expr& weight) {
  double out = 1;
  for (const PrimExpr& extent : tensor_type(weight)->shape)
    out *= static_cast<double>(as_int(extent) ? *as_int(extent) : 1);
  return out;
}

int64_t extent_of(const Expr& value, int axis) { return *as_int(tensor_type(value)->shape[static_cast<size_t>(axis)]); }

bool works_by_channel(const Call* call) {
  auto* op = call->op.as<OpNode>();
  if (!op) return false;
  const Fusion fusion = fusion_of(Op(op));
  return fusion == Fusion::Elementwise || fusion == Fusion::Broadcast || !pool_layout(call).empty() ||
         call->attrs.as<ReduceAttrs>();
}

}  // namespace

String pool_layout(const Call* call) {
  if (auto* attrs = call->attrs.as<PoolAttrs>()) return attrs->layout;
  if (auto* attrs = call->attrs.as<AdaptivePoolAttrs>()) return attrs->layout;
  if (auto* attrs = call->attrs.as<GlobalPool2DAttrs>()) return attrs->layout;
  return "";
}

bool is_float_of(const Expr& value, size_t axis) {
  auto* type = checked_type(value).as<TensorTypeNode>();
  return type && type->dtype == DataType::Float(32) && axis < type->shape.size() && as_int(type->shape[axis]);
}

Expr pad_axis(const Expr& x, DataType dtype, size_t rank, size_t axis, const ChannelPadding& padding) {
  if (padding.padded == padding.channels) return x;
  const bool is_whole = padding.groups == 1;
  std::vector<std::array<int64_t, 2>> widths(is_whole ? rank : rank + 1, {0, 0});
  widths[is_whole ? axis : axis + 1][1] = (padding.padded - padding.channels) / padding.groups;
  if (is_whole) return pad_around(x, widths, 0, dtype);
  return merge_axis(
      pad_around(split_axis(x, axis, padding.groups, padding.channels / padding.groups), widths, 0, dtype), axis);
}

Expr crop_axis(const Expr& x, size_t axis, const ChannelPadding& padding) {
  if (padding.groups == 1) return slice_axis(x, static_cast<int>(axis), 0, padding.channels);
  const Expr parts = split_axis(x, axis, padding.groups, padding.padded / padding.groups);
  return merge_axis(slice_axis(parts, static_cast<int>(axis) + 1, 0, padding.channels / padding.groups), axis);
}

std::optional<LayerChannels> grouped_channels(const Call* call) {
  auto* attrs = call->attrs.as<ConvAttrs>();
  if (!attrs || attrs->groups == 1 || layer_channels(call)) return std::nullopt;
  const Expr whole =
      make_call(call->op, call->args, changed_attrs<ConvAttrs>(call->attrs, [](auto& a) { a.groups = 1; }));
  return layer_channels(whole.as<Call>());
}

struct GroupedChannels::Convolution {
  const Call* call;
  int64_t groups;
  double gain;   // of its own
  double wider;  // what the layers around it grow by
  bool pads_data, pads_result;
};

GroupedChannels::GroupedChannels(const Expr& root, const PaddedCount& padded) {
  std::vector<Convolution> convolutions;
  std::vector<std::pair<const Call*, double>> layers;  // with the size of the weight
  post_order(root, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    if (!call || call->args.empty()) return;
    if (const auto at = layer_channels(call)) {
      if (at->weight_in == at->weight_out) unite(call, call->args[0]);
      else if (call->args.size() == 2 && call->args[1].as<Constant>())
        layers.emplace_back(call, size_of(call->args[1]));
      return;
    }
    const auto at = grouped_channels(call);
    if (!at) {
      if (works_by_channel(call))
        for (const Expr& arg : call->args) unite(call, arg);
      return;
    }
    if (call->args.size() != 2 || !call->args[1].as<Constant>() || at->data_block >= 0 || at->result_block >= 0 ||
        !is_float_of(call->args[0], size_t(at->data)) || !is_float_of(Expr(call), size_t(at->result)) ||
        !is_float_of(call->args[1], size_t(at->weight_out)))
      return;
    const int64_t groups = call->attrs.as<ConvAttrs>()->groups, ins = extent_of(call->args[1], at->weight_in),
                  outs = extent_of(call->args[1], at->weight_out) / groups;
    const double more_ins = ins % kReadTogether == 0 ? 1 : double(padded(call, ins)) / double(ins),
                 more_outs = double(padded(call, outs)) / double(outs);
    if (more_ins == 1 && more_outs == 1) return;
    convolutions.push_back({call, groups, size_of(call->args[1]) * (kHalfFilled - more_ins * more_outs),
                            std::max(more_ins, more_outs) - 1, more_ins > 1, more_outs > 1});
  });
  std::unordered_map<const Object*, double> around;  // what the layers of a set multiply, by what stands for it
  for (const auto& [call, size] : layers) {
    around[set_of(call)] += size;
    around[set_of(call->args[0].get())] += size;
  }
  for (const Convolution& each : convolutions) {
    const Object *before = set_of(each.call->args[0].get()), *behind = set_of(each.call);
    const double others = around[before] + (before == behind ? 0 : around[behind]);
    if (each.gain <= each.wider * others) continue;
    padded_.insert(each.call);
    if (each.pads_data) groups_.try_emplace(before, each.groups);
    if (each.pads_result) groups_.try_emplace(behind, each.groups);
  }
}

int64_t GroupedChannels::groups_of(const Call* value) const {
  auto it = groups_.find(set_of(value));
  return it == groups_.end() ? 1 : it->second;
}

const Object* GroupedChannels::set_of(const Object* value) const {
  const Object* top = value;
  for (auto it = next_.find(top); it != next_.end(); it = next_.find(top)) top = it->second;
  while (value != top) value = std::exchange(next_[value], top);
  return top;
}

void GroupedChannels::unite(const Call* value, const Expr& other) {
  if (!other.as<Call>()) return;
  const Object *one = set_of(value), *two = set_of(other.get());
  if (one != two) next_[two] = one;
}

}  // namespace tessera::relay
