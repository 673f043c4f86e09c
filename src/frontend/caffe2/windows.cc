// Convolutions, pools, and images in another size, of both orders of their dimensions.

#include <algorithm>

#include "frontend/caffe2/caffe2.h"
#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::caffe2 {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

constexpr int64_t kMaxWindow = 1 << 20;

bool has_channels_last(const LayerNode& in) {
  const std::string order = in.text("order", "NCHW");
  if (order != "NCHW" && order != "NHWC") in.invalid("the order is " + order + "; it is NCHW or NHWC");
  return order == "NHWC";
}
Expr channels_second(const LayerNode& in, const Expr& x) {
  if (in.rank(x) != 4) in.unsupported("the order NHWC of other than images");
  return typed(transpose(x, int_array({0, 3, 1, 2})));
}
/// What `make` makes of an image whose channels are the second dimension, in the order of the network.
template <class F>
Exprs in_order(LayerNode& in, F&& make) {
  if (!has_channels_last(in)) return {make(in[0])};
  return {transpose(make(channels_second(in, in[0])), int_array({0, 2, 3, 1}))};
}

/// "kernels" with a number for each dimension, "kernel" for all, or "kernel_h" and "kernel_w".
Ints extents(const LayerNode& in, const std::string& name, size_t spatial, int64_t otherwise) {
  Ints out = in.fields().integers(name + "s");
  if (in.fields().has(name + "_h") || in.fields().has(name + "_w"))
    out = {in.integer(name + "_h", otherwise), in.integer(name + "_w", otherwise)};
  if (out.empty()) out = Ints(spatial, in.integer(name, otherwise));
  if (out.size() != spatial) in.invalid(name + " does not fit the data");
  for (int64_t extent : out)
    if (extent < 0 || extent > kMaxWindow) in.invalid(name + " is " + std::to_string(extent));
  return out;
}

/// Begins, then ends.
Ints padding(const LayerNode& in, const Expr& x, const Ints& kernel, const Ints& strides, const Ints& dilations) {
  constexpr int64_t kValid = 1, kSame = 2;
  const size_t spatial = kernel.size();
  const int64_t legacy = in.integer("legacy_pad", 0);
  if (legacy == kValid) return Ints(2 * spatial, 0);
  if (legacy == kSame) {
    Ints shape = in.static_shape(x, "padding of the kind SAME"), image(shape.begin() + 2, shape.end());
    for (int64_t stride : strides)
      if (stride < 1) in.invalid("a stride is below one");
    return same_padding(image, kernel, strides, dilations, false);
  }
  Ints out = in.fields().integers("pads");
  if (out.empty() && spatial == 2 && in.fields().has("pad_t"))
    out = {in.integer("pad_t", 0), in.integer("pad_l", 0), in.integer("pad_b", 0), in.integer("pad_r", 0)};
  if (out.empty()) out = Ints(2 * spatial, in.integer("pad", 0));
  if (out.size() != 2 * spatial) in.invalid("pads does not fit the data");
  for (int64_t extent : out)
    if (extent < 0 || extent > kMaxWindow) in.invalid("pads is " + std::to_string(extent));
  return out;
}

struct Windows {
  Ints kernel, strides, dilations, padding;
  std::vector<onnx::Given> given() const {
    return {{"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", padding}};
  }
};
Windows windows_of(const LayerNode& in, const Expr& x) {
  const size_t spatial = in.spatial(x);
  Windows out{
      extents(in, "kernel", spatial, 0), extents(in, "stride", spatial, 1), extents(in, "dilation", spatial, 1), {}};
  out.padding = padding(in, x, out.kernel, out.strides, out.dilations);
  return out;
}

Exprs convolution(LayerNode& in) {
  return in_order(in, [&](const Expr& x) {
    Expr weight = has_channels_last(in) ? channels_second(in, in[1]) : in[1];
    std::vector<onnx::Given> windows = windows_of(in, x).given();
    windows.emplace_back("group", in.integer("group", 1));
    return apply(in, "Conv", {x, weight, in.has(2) ? in[2] : Expr()}, windows);
  });
}
Exprs transposed_convolution(LayerNode& in) {
  return in_order(in, [&](const Expr& x) {
    Expr weight = has_channels_last(in) ? channels_second(in, in[1]) : in[1];
    std::vector<onnx::Given> windows = windows_of(in, x).given();
    windows.emplace_back("group", in.integer("group", 1));
    windows.emplace_back("output_padding", std::vector<int64_t>(extents(in, "adj", in.spatial(x), 0)));
    return apply(in, "ConvTranspose", {x, weight, in.has(2) ? in[2] : Expr()}, windows);
  });
}

Exprs pool(LayerNode& in, const char* op) {
  constexpr int64_t kAsCaffe = 3;  // rounds up
  const bool is_max = std::string_view(op) == "MaxPool";
  return in_order(in, [&](const Expr& x) {
    if (in.flag("global_pooling")) {
      std::vector<int64_t> axes;
      for (size_t i = 2; i < in.rank(x); ++i) axes.push_back(static_cast<int64_t>(i));
      return is_max ? reduce("max", x, int_array(axes), true) : mean(x, int_array(axes), true);
    }
    std::vector<onnx::Given> windows = windows_of(in, x).given();
    windows.emplace_back("ceil_mode", in.integer("legacy_pad", 0) == kAsCaffe);
    if (!is_max) windows.emplace_back("count_include_pad", in.flag("count_include_pad"));
    return apply(in, op, {x}, windows);
  });
}
Exprs max_pool_layer(LayerNode& in) { return pool(in, "MaxPool"); }
Exprs average_pool_layer(LayerNode& in) { return pool(in, "AveragePool"); }

/// Each element of the result is that at its position over the scale, rounded down.
Exprs resize_nearest(LayerNode& in) {
  return in_order(in, [&](const Expr& image) {
    Ints shape = in.static_shape(image, "another size");
    if (shape.size() != 4) in.invalid("the data is no image");
    Expr x = image;
    for (int axis : {2, 3}) {
      const auto scale = static_cast<float>(in.number(axis == 2 ? "height_scale" : "width_scale", 1));
      const int64_t extent = shape[static_cast<size_t>(axis)];
      const float made = static_cast<float>(extent) * scale;
      if (!(made >= 1 && made < (1 << 24))) in.invalid("a scale is " + std::to_string(scale));
      if (const auto whole = static_cast<int>(scale); static_cast<float>(whole) == scale) {
        if (whole > 1) x = repeat(x, whole, axis);
        continue;
      }
      std::vector<int64_t> from;
      for (int64_t i = 0; i < static_cast<int64_t>(made); ++i)
        from.push_back(std::min(static_cast<int64_t>(static_cast<float>(i) / scale), extent - 1));
      x = take(x, make_ints(from, DataType::Int(32)), axis);
    }
    return x;
  });
}

Exprs batch_norm(LayerNode& in) {
  if (!in.flag("is_test")) in.unsupported("statistics of the batch (is_test is 0)");
  return in_order(in, [&](const Expr& x) {
    return apply(in, "BatchNormalization", {x, in[1], in[2], in[3], in[4]}, {{"epsilon", in.number("epsilon", 1e-5)}});
  });
}

/// A mean and a deviation for each channel of each sample.
Exprs normalize_planar(LayerNode& in) {
  return {divide(subtract(in[0], expand_dims(in[1], 2, 2)), expand_dims(in[2], 2, 2))};
}

Exprs local_response_norm(LayerNode& in) {
  return in_order(in, [&](const Expr& x) {
    return apply(in, "LRN", {x},
                 {{"size", in.integer("size")},
                  {"alpha", in.number("alpha", 0)},
                  {"beta", in.number("beta", 0)},
                  {"bias", in.number("bias", 1)}});
  });
}

}  // namespace

LayerRows window_rows() {
  return {
      {"AveragePool", average_pool_layer}, {"Conv", convolution},       {"ConvTranspose", transposed_convolution},
      {"LRN", local_response_norm},        {"MaxPool", max_pool_layer}, {"NormalizePlanarYUV", normalize_planar},
      {"ResizeNearest", resize_nearest},   {"SpatialBN", batch_norm},
  };
}

}  // namespace tessera::caffe2
