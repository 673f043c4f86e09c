#include "op/layer_channels.h"

#include <string>

#include "ir/prim/ops.h"
#include "relay/attrs/conv.h"
#include "relay/inspect.h"
#include "tir/layout.h"

namespace tessera::op {
namespace {

int64_t fixed(const PrimExpr& extent) {
  const int64_t* value = as_int(extent);
  return value ? *value : -1;
}

/// Whether no axis is split but those, and these once.
bool blocks_channels_alone(const Layout& layout, std::string_view channels) {
  std::string seen;
  for (size_t i = 0; i < layout->axes.size(); ++i) {
    if (layout->is_primal(i)) continue;
    const char primal = layout->primal(i);
    if (channels.find(primal) == channels.npos || seen.find(primal) != seen.npos) return false;
    seen += primal;
  }
  return true;
}

}  // namespace

std::optional<relay::LayerChannels> conv_channels(const relay::Call* call) {
  auto* attrs = cast_or_null<relay::ConvAttrs>(call->attrs.get());
  if (!attrs) return std::nullopt;
  Layout data = make_layout(attrs->data_layout), kernel = make_layout(attrs->kernel_layout);
  Layout out = attrs->out_layout.empty() ? data : make_layout(attrs->out_layout);
  if (!blocks_channels_alone(data, "C") || !blocks_channels_alone(kernel, "IO") || !blocks_channels_alone(out, "C"))
    return std::nullopt;
  relay::LayerChannels at{data->index_of('C'),
                          out->index_of('C'),
                          kernel->index_of('I'),
                          kernel->index_of('O'),
                          static_cast<int>(kernel->axes.size()),
                          data->index_of('c'),
                          out->index_of('c'),
                          kernel->index_of('i'),
                          kernel->index_of('o')};
  if (attrs->groups != 1) {
    TensorType weight = relay::tensor_type(call->args[1]);
    auto extent = [&](int axis) { return axis < 0 ? 1 : fixed(weight->shape[static_cast<size_t>(axis)]); };
    bool is_depthwise = extent(at.weight_out) * extent(at.weight_out_block) == attrs->groups &&
                        extent(at.weight_in) * extent(at.weight_in_block) == 1;
    if (!is_depthwise) return std::nullopt;
    at.weight_in = at.weight_out;
    at.weight_in_block = at.weight_out_block;
  }
  // a scale in blocks meets a weight in the same blocks
  auto block = [](const Layout& layout, int axis) {
    return axis < 0 ? 0 : fixed(layout->axes[static_cast<size_t>(axis)]->dom->extent);
  };
  if (block(data, at.data_block) != block(kernel, at.weight_in_block) ||
      block(out, at.result_block) != block(kernel, at.weight_out_block))
    return std::nullopt;
  return at;
}

std::optional<relay::LayerChannels> dense_channels(const relay::Call* call) {
  const int last = static_cast<int>(relay::rank_of(call->args[0])) - 1;
  return relay::LayerChannels{last, last, 1, 0, 2};
}

}  // namespace tessera::op
