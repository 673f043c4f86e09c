// PadChannels: convolutions whose channels fill no vector are computed with channel padding, of zeros, and what follows
// goes on with it as far as it works channel by channel. Only what needs the channels alone crops them.
//
//   %1 = nn.conv2d(%x, w0, channels=58)              %1 = nn.conv2d(%x, w0 of 64 channels)
//   %2 = nn.relu(%1)                           =>    %2 = nn.relu(%1)
//   nn.conv2d(%2, w1, channels=58)                   strided_slice(nn.conv2d(%2, w1 of 64 by 64 channels), ...)
//
// A convolution in groups has padding in each of them, and the layers around it have the same (channel_padding.h).
//
// The padding of weights makes the padding of results a number, the same everywhere, which is known at each step and has to
// be finite: the next weight multiplies it with zeros.

#include "relay/transform/layout/pad_channels.h"

#include <cmath>
#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/reduce.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/slots.h"
#include "relay/transform/layout/channel_padding.h"
#include "relay/transform/passes.h"
#include "relay/transform/simplify/fold_constant.h"
#include "relay/type/type_of.h"
#include "runtime/function/element.h"
#include "tir/layout.h"

namespace tessera::relay {
namespace {

/// A value with padded channels, whose padding is all `filler`.
struct Wide {
  Expr value;
  size_t axis;
  ChannelPadding channels;
  double filler;
};

/// A constant with zeros in the padding.
Expr with_zeros(const Expr& constant, size_t rank, size_t axis, const ChannelPadding& channels) {
  if (channels.padded == channels.channels) return constant;
  return fold_constant(typed(pad_axis(constant, dtype_of(constant), rank, axis, channels)));
}

/// The constant that a value is, or that a call makes of constants; empty where it is neither.
Expr constant_of(const Expr& value) {
  auto* call = value.as<Call>();
  if (!call) return value.as<Constant>() ? value : nullptr;
  for (const Expr& arg : call->args)
    if (!arg.as<Constant>()) return nullptr;
  Expr out = fold_constant(typed(value));
  return out.as<Constant>() ? out : nullptr;
}

/// Which axis of the result of a pool or a reduction is the axis `channel` of its data, if it makes each channel of one channel
/// and zeros of zeros.
std::optional<size_t> kept_axis(const Call* call, size_t channel, size_t rank) {
  if (const String layout = pool_layout(call); !layout.empty()) {
    const Layout axes = make_layout(layout);
    return axes->axes.size() == rank && axes->index_of('C') == static_cast<int>(channel) ? std::optional(channel)
                                                                                         : std::nullopt;
  }
  constexpr Reduction kKinds[] = {Reduction::Sum, Reduction::Max, Reduction::Min, Reduction::Mean};
  auto* attrs = call->attrs.as<ReduceAttrs>();
  auto reduced = attrs && attrs->axis.defined() ? fixed_ints(attrs->axis) : std::nullopt;
  if (!reduced || attrs->exclude ||
      std::find(std::begin(kKinds), std::end(kKinds), reduction_of(call)) == std::end(kKinds))
    return std::nullopt;
  size_t before = 0;
  for (int64_t axis : *reduced) {
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis == static_cast<int64_t>(channel)) return std::nullopt;
    before += axis < static_cast<int64_t>(channel);
  }
  return attrs->keepdims ? channel : channel - before;
}

class ChannelPadder {
 public:
  ChannelPadder(const GraphEnvironment& environment, const Expr& root)
      : environment_(environment), grouped_(root, [this](const Call* layer, int64_t channels) {
          return padded_channels(Op(layer->op.as<OpNode>()), channels);
        }) {}

  Expr operator()(const Expr& root) {
    return rewrite(root, [this](Rewriter& self, const Call* call) -> Expr {
      Ref<Call> post = self.children(call);
      std::optional<Wide> wide = widened(call, post);
      if (!wide) return post;
      if (wide->channels.padded == wide->channels.channels) return wide->value;
      Expr out = crop_axis(wide->value, wide->axis, wide->channels);
      wides_.emplace(out.get(), *wide);
      kept_.push_back(out);
      return out;
    });
  }

 private:
  const Wide* wide_of(const Expr& value) const {
    auto it = wides_.find(value.get());
    return it == wides_.end() ? nullptr : &it->second;
  }

  std::optional<Wide> widened(const Call* call, const Ref<Call>& post) {
    auto* op = call->op.as<OpNode>();
    if (!op) return std::nullopt;
    if (std::optional<LayerChannels> at = layer_channels(call)) return widened_layer(call, post, *at);
    if (grouped_.wants_padding(call)) return widened_groups(call, post, *grouped_channels(call));
    const Fusion fusion = fusion_of(Op(op));
    if (fusion == Fusion::Elementwise || fusion == Fusion::Broadcast) return widened_elements(call, post);
    return widened_windows(call, post);
  }

  /// A pool or a reduction of padded data.
  std::optional<Wide> widened_windows(const Call* call, const Ref<Call>& post) {
    const Wide* data = call->args.size() == 1 ? wide_of(post->args[0]) : nullptr;
    if (!data || data->filler != 0) return std::nullopt;
    const std::optional<size_t> axis = kept_axis(call, data->axis, rank_of(call->args[0]));
    if (!axis || !is_float_of(Expr(call), *axis)) return std::nullopt;
    return Wide{make_call(call->op, {data->value}, call->attrs), *axis, data->channels, 0};
  }

  /// A layer that takes padded data or gives padded results.
  std::optional<Wide> widened_layer(const Call* call, const Ref<Call>& post, const LayerChannels& at) {
    if (call->args.size() != 2 || at.data_block >= 0 || at.result_block >= 0 || !call->attrs.as<ConvAttrs>() ||
        !post->args[1].as<Constant>() || !is_float_of(call->args[0], size_t(at.data)) ||
        !is_float_of(Expr(call), size_t(at.result)) || !is_float_of(call->args[1], size_t(at.weight_out)))
      return std::nullopt;
    const Wide* data = wide_of(post->args[0]);
    if (data && data->axis != size_t(at.data)) data = nullptr;
    const auto rank = static_cast<size_t>(at.weight_rank);
    const bool are_apart = at.weight_in == at.weight_out;
    const int64_t channels = *as_int(tensor_type(Expr(call))->shape[size_t(at.result)]);
    if (are_apart && (!data || channels != data->channels.channels)) return std::nullopt;
    const ChannelPadding padding =
        are_apart ? data->channels : padding_of(Op(call->op.as<OpNode>()), channels, grouped_.groups_of(call));
    if (!data && padding.padded == channels) return std::nullopt;
    Expr weight = post->args[1];
    if (data && !are_apart) weight = with_zeros(weight, rank, size_t(at.weight_in), data->channels);
    weight = with_zeros(weight, rank, size_t(at.weight_out), padding);
    Attrs attrs = changed_attrs<ConvAttrs>(call->attrs, [&](auto& a) {
      a.channels = PrimExpr(static_cast<int>(padding.padded));
      if (are_apart) a.groups = static_cast<int>(padding.padded);
    });
    Expr value = make_call(call->op, {data ? data->value : post->args[0], weight}, attrs);
    return Wide{value, size_t(at.result), padding, 0};
  }

  /// A convolution in groups whose results, and data where it has to be, have padding in each group.
  std::optional<Wide> widened_groups(const Call* call, const Ref<Call>& post, const LayerChannels& at) {
    if (!post->args[1].as<Constant>()) return std::nullopt;
    const int64_t groups = call->attrs.as<ConvAttrs>()->groups;
    const Op op(call->op.as<OpNode>());
    const auto padding_along = [&](const Expr& value, int axis) {
      return padding_of(op, *as_int(tensor_type(value)->shape[size_t(axis)]), groups);
    };
    const ChannelPadding outs = padding_along(Expr(call), at.result);
    ChannelPadding ins = padding_along(call->args[0], at.data);
    const Wide* data = wide_of(post->args[0]);
    const bool is_padded = data && data->axis == size_t(at.data) && data->channels == ins;
    if (!is_padded && ins.channels / groups % kReadTogether == 0) ins.padded = ins.channels;
    const auto rank = static_cast<size_t>(at.weight_rank);
    const Expr values =
        is_padded ? data->value : pad_axis(post->args[0], DataType::Float(32), rank, size_t(at.data), ins);
    Expr weight = with_zeros(post->args[1], rank, size_t(at.weight_in), {ins.channels / groups, ins.padded / groups});
    weight = with_zeros(weight, rank, size_t(at.weight_out), outs);
    Attrs attrs =
        changed_attrs<ConvAttrs>(call->attrs, [&](auto& a) { a.channels = PrimExpr(static_cast<int>(outs.padded)); });
    return Wide{make_call(call->op, {values, weight}, attrs), size_t(at.result), outs, 0};
  }

  ChannelPadding padding_of(const Op& op, int64_t channels, int64_t groups) const {
    if (channels % groups != 0) groups = 1;
    return {channels, groups * padded_channels(op, channels / groups), groups};
  }

  int64_t padded_channels(const Op& op, int64_t channels) const {
    Any rule = op.slot(kPaddedChannels);
    return rule.is_null() ? channels : rule.to<PackedFunc>()(channels, environment_.target).to<int64_t>();
  }

  /// Arithmetic on padded values alike, and on constants.
  std::optional<Wide> widened_elements(const Call* call, const Ref<Call>& post) {
    const Wide* first = nullptr;
    for (const Expr& arg : post->args) {
      const Wide* wide = wide_of(arg);
      if (!wide) continue;
      if (first && (wide->axis != first->axis || wide->channels != first->channels)) return std::nullopt;
      first = wide;
    }
    auto* type = first ? checked_type(Expr(call)).as<TensorTypeNode>() : nullptr;
    if (!type || type->dtype != DataType::Float(32)) return std::nullopt;
    const size_t rank = type->shape.size();
    Array<Expr> args, fillers;
    for (size_t i = 0; i < call->args.size(); ++i) {
      auto* here = checked_type(call->args[i]).as<TensorTypeNode>();
      if (!here || here->dtype != DataType::Float(32)) return std::nullopt;
      if (const Wide* wide = wide_of(post->args[i])) {
        if (here->shape.size() != rank) return std::nullopt;
        args.push_back(wide->value);
        fillers.push_back(make_scalar(wide->filler, here->dtype));
        continue;
      }
      const Expr constant = constant_of(post->args[i]);
      if (!constant) return std::nullopt;
      const size_t missing = rank - here->shape.size();  // dimensions are aligned at the end
      const bool has_axis = first->axis >= missing && !is_one(here->shape[first->axis - missing]);
      if (has_axis) args.push_back(with_zeros(constant, here->shape.size(), first->axis - missing, first->channels));
      else args.push_back(constant);
      if (!has_axis && !constant.as<Constant>()->is_scalar())
        return std::nullopt;  // the padding would not be one number
      fillers.push_back(has_axis ? make_scalar(0, here->dtype) : constant);
    }
    std::optional<double> filler = value_of(call, fillers);
    if (!filler) return std::nullopt;
    return Wide{make_call(call->op, args, call->attrs), first->axis, first->channels, *filler};
  }

  /// What the operator makes of numbers; nothing where that is not finite, or not to be had.
  static std::optional<double> value_of(const Call* call, const Array<Expr>& numbers) {
    try {
      Expr out = fold_constant(typed(make_call(call->op, numbers, call->attrs)));
      auto* constant = out.as<Constant>();
      if (!constant || !constant->is_scalar()) return std::nullopt;
      const double value = read_float(DataType::Float(32), constant->data.data<char>());
      return std::isfinite(value) ? std::optional(value) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;  // it wants axes
    }
  }

  const GraphEnvironment& environment_;
  const GroupedChannels grouped_;
  std::unordered_map<const Object*, Wide> wides_;  // by what stands for them
  std::vector<Expr> kept_;                         // keeps the keys alive
};

}  // namespace

Expr pad_channels(const Expr& root, const GraphEnvironment& environment) {
  return environment.is_for_cpu() ? ChannelPadder(environment, root)(root) : root;
}

}  // namespace tessera::relay
