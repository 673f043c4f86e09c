#include "op/layer_channels.h"

#include "ir/prim/ops.h"
#include "relay/attrs/conv.h"
#include "relay/inspect.h"
#include "tir/layout.h"

namespace tessera::op {

std::optional<relay::LayerChannels> conv_channels(const relay::Call* call) {
  auto* attrs = cast_or_null<relay::ConvAttrs>(call->attrs.get());
  if (!attrs) return std::nullopt;
  Layout data = make_layout(attrs->data_layout), kernel = make_layout(attrs->kernel_layout);
  Layout out = attrs->out_layout.empty() ? data : make_layout(attrs->out_layout);
  for (const Layout& layout : {data, kernel, out})
    for (size_t i = 0; i < layout->axes.size(); ++i)
      if (!layout->is_primal(i)) return std::nullopt;
  relay::LayerChannels at{data->index_of('C'), out->index_of('C'), kernel->index_of('I'), kernel->index_of('O'),
                          static_cast<int>(kernel->axes.size())};
  if (attrs->groups == 1) return at;
  TensorType weight = relay::tensor_type(call->args[1]);
  const int64_t* outputs = as_int(weight->shape[static_cast<size_t>(at.weight_out)]);
  bool is_depthwise = outputs && *outputs == attrs->groups && is_one(weight->shape[static_cast<size_t>(at.weight_in)]);
  if (!is_depthwise) return std::nullopt;
  at.weight_in = at.weight_out;
  return at;
}

std::optional<relay::LayerChannels> dense_channels(const relay::Call* call) {
  const int last = static_cast<int>(relay::rank_of(call->args[0])) - 1;
  return relay::LayerChannels{last, last, 1, 0, 2};
}

}  // namespace tessera::op
