// Convolutions.

#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/ops/windows.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {

using namespace relay;  // NOLINT: makers of calls

Ints per_dimension(const Operation& in, std::string_view name, size_t spatial, int64_t otherwise) {
  Ints out = in.integers(name);
  if (out.empty()) out = Ints(std::vector<int64_t>(spatial, otherwise));
  if (out.size() == 1 && spatial > 1) out = Ints(std::vector<int64_t>(spatial, out[0]));
  if (out.size() != spatial)
    in.invalid(std::string(name) + " has " + std::to_string(out.size()) + " numbers for " + std::to_string(spatial) +
               " dimensions");
  for (int64_t value : out)
    if (value < 0 || value > INT32_MAX) in.invalid(std::string(name) + " is " + std::to_string(value));
  return out;
}

namespace {

Expr with_bias(const Operation& in, const Expr& out, int axis) {
  if (!in.has("bias")) return out;
  return call_op("nn.bias_add", {out, in["bias"]}, make_attrs<BiasAddAttrs>([&](auto& attrs) { attrs.axis = axis; }));
}

Values any_convolution(Operation& in, bool is_transposed) {
  Expr data = in[0], weight = in["weight"];
  const size_t rank = in.rank(weight);
  if (rank < 3) in.invalid("the weight has " + std::to_string(rank) + " dimensions");
  const size_t spatial = rank - 2;
  const bool has_batch = in.rank(data) == rank;
  if (!has_batch) data = expand_dims(data, 0);
  Ints shape = in.static_shape(weight, "the weight of a convolution");
  ConvWindows windows;
  windows.kernel = {shape.begin() + 2, shape.end()};
  windows.strides = per_dimension(in, "stride", spatial, 1);
  windows.dilations = per_dimension(in, "dilation", spatial, 1);
  windows.groups = in.integer("groups", 1);
  for (size_t i = 0; i < spatial; ++i)
    if (windows.strides[i] < 1 || windows.dilations[i] < 1) in.invalid("a stride or dilation is 0");
  if (windows.groups < 1) in.invalid("the number of groups is " + std::to_string(windows.groups));
  Expr out;
  const Value& padding = in.value_or_absent("padding");
  if (is_transposed) {
    Ints pads = per_dimension(in, "padding", spatial, 0);
    std::vector<int64_t> both = pads;
    both.insert(both.end(), pads.begin(), pads.end());
    out = onnx::apply(in, "ConvTranspose", {data, weight},
                      {{"strides", std::vector<int64_t>(windows.strides)},
                       {"dilations", std::vector<int64_t>(windows.dilations)},
                       {"pads", both},
                       {"group", windows.groups},
                       {"output_padding", std::vector<int64_t>(per_dimension(in, "output_padding", spatial, 0))}});
  } else {
    if (padding.kind == Value::Text && padding.text == "same") {
      windows.padding = Ints(std::vector<int64_t>(2 * spatial, 0));
      for (size_t i = 0; i < spatial; ++i) {
        const int64_t total = dilated(windows.kernel[i], windows.dilations[i]) - 1;
        windows.padding[i] = total / 2;
        windows.padding[i + spatial] = total - total / 2;
      }
    } else {
      Ints pads = padding.kind == Value::Text ? Ints(std::vector<int64_t>(spatial, 0))
                                              : per_dimension(in, "padding", spatial, 0);
      windows.padding = pads;
      windows.padding.insert(windows.padding.end(), pads.begin(), pads.end());
    }
    out = convolution(in, data, weight, windows);
  }
  out = with_bias(in, out, 1);
  return {has_batch ? out : squeeze(out, int_array({0}))};
}

Values general_convolution(Operation& in) { return any_convolution(in, in.flag("transposed", false)); }
Values plain_convolution(Operation& in) { return any_convolution(in, false); }
Values transposed_convolution(Operation& in) { return any_convolution(in, true); }

}  // namespace

Rows conv_rows() {
  return {
      {"aten::_convolution", general_convolution},
      {"aten::_convolution_mode", plain_convolution},
      {"aten::conv1d", plain_convolution},
      {"aten::conv2d", plain_convolution},
      {"aten::conv3d", plain_convolution},
      {"aten::conv_transpose1d", transposed_convolution},
      {"aten::conv_transpose2d", transposed_convolution},
      {"aten::conv_transpose3d", transposed_convolution},
      {"aten::convolution", general_convolution},
  };
}

}  // namespace tessera::torch
