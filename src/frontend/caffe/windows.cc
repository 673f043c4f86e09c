// Convolutions, pools and linear layers.

#include <algorithm>

#include "frontend/caffe/caffe.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::caffe {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

constexpr int64_t kMaxWindow = 1 << 20;

std::vector<int64_t> both_sides(const Ints& pad) {
  std::vector<int64_t> out = pad;
  out.insert(out.end(), pad.begin(), pad.end());
  return out;
}

/// "kernel_h" and "kernel_w", or "kernel_size" with a number for all dimensions or one for each.
Ints extents(const LayerNode& in, const std::string& name, const std::string& both, size_t count, int64_t otherwise) {
  Ints out;
  const Fields& fields = in.fields();
  if (fields.has(name + "_h") || fields.has(name + "_w")) {
    if (count != 2) in.invalid(name + "_h is only for images");
    out = {fields.integer(name + "_h", otherwise), fields.integer(name + "_w", otherwise)};
  } else {
    out = fields.list(both).empty() ? Ints(count, otherwise) : in.integers(both, count, otherwise);
  }
  for (int64_t extent : out)
    if (extent < 0 || extent > kMaxWindow) in.invalid(both + " is " + std::to_string(extent));
  return out;
}

std::vector<onnx::Given> windows_of(LayerNode& in, const Expr& weight) {
  const size_t spatial = in.spatial(in[0]);
  Ints shape = in.static_shape(weight, "a convolution");
  if (in.integer("axis", 1) != 1) in.unsupported("channels along an axis other than 1");
  if (shape.size() != spatial + 2) in.invalid("the weight does not fit the data");
  return {
      {"kernel_shape", std::vector<int64_t>(shape.begin() + 2, shape.end())},
      {"strides", std::vector<int64_t>(extents(in, "stride", "stride", spatial, 1))},
      {"dilations", std::vector<int64_t>(in.fields().has("dilation") ? extents(in, "dilation", "dilation", spatial, 1)
                                                                     : Ints(spatial, 1))},
      {"pads", both_sides(extents(in, "pad", "pad", spatial, 0))}};
}
Expr bias_of(LayerNode& in) { return in.flag("bias_term", true) ? typed(reshape_to(in.weight(1), {-1})) : Expr(); }

Exprs convolution(LayerNode& in, bool is_depthwise) {
  Expr weight = in.weight(0);
  std::vector<onnx::Given> windows = windows_of(in, weight);
  windows.emplace_back("group", is_depthwise ? in.static_shape(in[0], "a convolution")[1] : in.integer("group", 1));
  return {apply(in, "Conv", {in[0], weight, bias_of(in)}, windows)};
}
Exprs plain_convolution(LayerNode& in) { return convolution(in, false); }
Exprs depthwise_convolution(LayerNode& in) { return convolution(in, true); }
Exprs deconvolution(LayerNode& in) {
  Expr weight = in.weight(0);
  std::vector<onnx::Given> windows = windows_of(in, weight);
  windows.emplace_back("group", in.integer("group", 1));
  return {apply(in, "ConvTranspose", {in[0], weight, bias_of(in)}, windows)};
}

/// The last window may reach beyond the padding, and is counted where it begins inside of it.
Exprs pooling(LayerNode& in) {
  const std::string method = in.text("pool", "MAX");
  if (method == "STOCHASTIC") in.unsupported("stochastic pooling");
  const size_t spatial = in.spatial(in[0]);
  if (in.flag("global_pooling")) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 2);
    return {method == "MAX" ? reduce("max", in[0], int_array(axes), true) : mean(in[0], int_array(axes), true)};
  }
  const bool rounds_up = in.fields().has("ceil_mode") ? in.flag("ceil_mode") : in.text("round_mode", "CEIL") == "CEIL";
  std::vector<onnx::Given> windows{
      {"kernel_shape", std::vector<int64_t>(extents(in, "kernel", "kernel_size", spatial, 0))},
      {"strides", std::vector<int64_t>(extents(in, "stride", "stride", spatial, 1))},
      {"pads", both_sides(extents(in, "pad", "pad", spatial, 0))},
      {"ceil_mode", rounds_up}};
  if (method == "MAX") return {apply(in, "MaxPool", {in[0]}, windows)};
  windows.emplace_back("count_include_pad", 1);
  return {apply(in, "AveragePool", {in[0]}, windows)};
}

/// Dimensions from the axis on are one vector.
Exprs inner_product(LayerNode& in) {
  const int axis = in.axis(in.integer("axis", 1), in.rank(in[0]));
  const int64_t outputs = in.integer("num_output");
  if (outputs < 1) in.invalid("num_output must be above zero");
  Expr flat = merged(in[0], axis, static_cast<int>(in.rank(in[0])));
  Expr weight = in.flag("transpose") ? transpose(reshape_to(in.weight(0), {-1, outputs}), int_array({1, 0}))
                                     : reshape_to(in.weight(0), {outputs, -1});
  Expr out = call_op("nn.dense", {flat, weight}, make_attrs<DenseAttrs>([](auto&) {}));
  return {in.flag("bias_term", true) ? add(out, reshape_to(in.weight(1), {outputs})) : out};
}

/// Rows of a table by numbers, which are floats here.
Exprs embed(LayerNode& in) {
  const int64_t outputs = in.integer("num_output"), rows = in.integer("input_dim");
  if (outputs < 1 || rows < 1) in.invalid("num_output and input_dim must be above zero");
  Expr table = reshape_to(in.weight(0), {rows, outputs});
  Expr out = take(table, cast(in[0], DataType::Int(32)), 0);
  return {in.flag("bias_term", true) ? add(out, reshape_to(in.weight(1), {outputs})) : out};
}

}  // namespace

LayerRows window_rows() {
  return {
      {"Convolution", plain_convolution},
      {"ConvolutionDepthwise", depthwise_convolution},
      {"Deconvolution", deconvolution},
      {"DepthwiseConvolution", depthwise_convolution},
      {"Embed", embed},
      {"InnerProduct", inner_product},
      {"Pooling", pooling},
  };
}

}  // namespace tessera::caffe
