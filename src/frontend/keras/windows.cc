// Convolutions, pools, and what else works on images.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/keras/keras.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::keras {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

/// The kernel (k..., a, b) as (b, a, k...).
Expr kernel_first(const KerasLayer& in, const Expr& kernel) {
  const auto rank = static_cast<int64_t>(in.rank(kernel));
  std::vector<int64_t> axes{rank - 1, rank - 2};
  for (int64_t i = 0; i + 2 < rank; ++i) axes.push_back(i);
  return transpose(kernel, int_array(axes));
}

const char* padding_mode(const KerasLayer& in) {
  std::string padding = in.text("padding", "valid");
  if (padding == "valid" || padding == "causal") return "VALID";
  if (padding != "same") in.unsupported("padding of the kind " + padding);
  return "SAME_UPPER";
}

/// Rows that look back only.
Expr causal(const KerasLayer& in, const Expr& x, int64_t kernel, int64_t dilation) {
  if (in.text("padding", "valid") != "causal") return x;
  return pad_with(x, {0, 0, (kernel - 1) * dilation}, {0, 0, 0}, 0);
}

Exprs finished(KerasLayer& in, Expr out, size_t bias) {
  if (in.flag("use_bias", true))
    out = call_op("nn.bias_add", {out, in.weight(bias)}, make_attrs<BiasAddAttrs>([](auto&) {}));
  typed(out);
  const int channels = in.keeps_channels_last() ? 1 : static_cast<int>(in.rank(out)) - 1;  // Keras' last axis
  return {in.from_channels_second(activated(in, out, "activation", channels))};
}

Exprs conv(KerasLayer& in) {
  Expr x = in.channels_second(), kernel = in.weight(0);
  const size_t spatial = in.spatial(x);
  Ints shape = in.static_shape(kernel, "the kernel of a convolution");
  if (shape.size() != spatial + 2) in.invalid("the kernel does not fit the data");
  Ints dilations = in.integers("dilation_rate", spatial, 1), strides = in.integers("strides", spatial, 1);
  const int64_t groups = in.integer("groups", 1);
  x = causal(in, x, shape[0], dilations[0]);
  Expr out = apply(in, "Conv", {x, kernel_first(in, kernel)},
                   {{"strides", strides}, {"dilations", dilations}, {"group", groups}, {"auto_pad", padding_mode(in)}});
  return finished(in, out, 1);
}

/// (k..., channels, times) as filters of one channel each.
Expr depthwise_filters(const KerasLayer& in, const Expr& kernel) {
  Ints shape = in.static_shape(kernel, "the kernel of a convolution");
  const size_t spatial = shape.size() - 2;
  std::vector<int64_t> axes{static_cast<int64_t>(spatial), static_cast<int64_t>(spatial) + 1},
      target{shape[spatial] * shape[spatial + 1], 1};
  for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i)), target.push_back(shape[i]);
  return reshape_to(transpose(kernel, int_array(axes)), target);
}

Expr depthwise(KerasLayer& in, Expr x) {
  const size_t spatial = in.spatial(x);
  Ints shape = in.static_shape(in.weight(0), "the kernel of a convolution");
  if (shape.size() != spatial + 2) in.invalid("the kernel does not fit the data");
  Ints dilations = in.integers("dilation_rate", spatial, 1);
  x = causal(in, x, shape[0], dilations[0]);
  return apply(in, "Conv", {x, depthwise_filters(in, in.weight(0))},
               {{"strides", std::vector<int64_t>(in.integers("strides", spatial, 1))},
                {"dilations", std::vector<int64_t>(dilations)},
                {"group", shape[spatial]},
                {"auto_pad", padding_mode(in)}});
}

Exprs depthwise_conv(KerasLayer& in) { return finished(in, depthwise(in, in.channels_second()), 1); }

Exprs separable_conv(KerasLayer& in) {
  Expr middle = depthwise(in, in.channels_second());
  return finished(in, apply(in, "Conv", {middle, kernel_first(in, in.weight(1))}), 2);
}

/// What is cropped or added so that the result is as long as Keras says.
Exprs conv_transpose(KerasLayer& in) {
  Expr x = in.channels_second(), kernel = in.weight(0);
  const size_t spatial = in.spatial(x);
  Ints shape = in.static_shape(kernel, "the kernel of a convolution");
  if (shape.size() != spatial + 2) in.invalid("the kernel does not fit the data");
  Ints strides = in.integers("strides", spatial, 1), dilations = in.integers("dilation_rate", spatial, 1);
  const bool is_same = in.text("padding", "valid") == "same";
  std::vector<int64_t> pads(2 * spatial, 0), more(spatial, 0);
  Ints given = in.fields().has("output_padding") ? in.integers("output_padding", spatial, 0) : Ints();
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t window = (shape[i] - 1) * dilations[i] + 1;
    // The result for n elements is (n - 1) * stride + length long; all that the windows reach is `window`.
    int64_t length = is_same ? strides[i] : std::max(window, strides[i]);
    if (!given.empty()) length = window + given[i] - (is_same ? 2 * (window / 2) : 0);
    const int64_t total = std::max<int64_t>(window - length, 0);
    const int64_t before = is_same ? total / 2 : 0;
    pads[i] = before, pads[i + spatial] = total - before, more[i] = std::max<int64_t>(length - window, 0);
  }
  Expr out = apply(in, "ConvTranspose", {x, kernel_first(in, kernel)},
                   {{"strides", strides},
                    {"dilations", dilations},
                    {"pads", pads},
                    {"output_padding", more},
                    {"group", in.integer("groups", 1)}});
  return finished(in, out, 1);
}

Exprs pool(KerasLayer& in, const char* op) {
  Expr x = in.channels_second();
  const size_t spatial = in.spatial(x);
  Ints size = in.integers("pool_size", spatial, 2), strides = size;
  if (in.fields().has("strides")) strides = in.integers("strides", spatial, 1);
  return {in.from_channels_second(
      apply(in, op, {x}, {{"kernel_shape", size}, {"strides", strides}, {"auto_pad", padding_mode(in)}}))};
}
Exprs max_pool(KerasLayer& in) { return pool(in, "MaxPool"); }
Exprs average_pool(KerasLayer& in) { return pool(in, "AveragePool"); }

Exprs global_pool(KerasLayer& in, const char* reduction) {
  Expr x = in.channels_second();
  std::vector<int64_t> axes;
  for (size_t i = 2; i < in.rank(x); ++i) axes.push_back(static_cast<int64_t>(i));
  const bool keeps = in.flag("keepdims");
  Expr out = reduce(reduction, x, int_array(axes), keeps);
  return {keeps ? in.from_channels_second(out) : out};
}
Exprs global_max_pool(KerasLayer& in) { return global_pool(in, "max"); }
Exprs global_average_pool(KerasLayer& in) { return global_pool(in, "mean"); }

Exprs upsampling(KerasLayer& in) {
  Expr x = in.channels_second();
  const size_t spatial = in.spatial(x);
  Ints size = in.integers("size", spatial, 2);
  const std::string method = in.text("interpolation", "nearest");
  if (method == "nearest") {
    for (size_t i = 0; i < spatial; ++i) x = repeat(x, static_cast<int>(size[i]), static_cast<int>(i) + 2);
    return {in.from_channels_second(x)};
  }
  const char* mode = method == "bilinear" ? "linear" : method == "bicubic" ? "cubic" : nullptr;
  if (!mode) in.unsupported("interpolation of the kind " + method);
  std::vector<double> scales{1, 1};
  for (int64_t times : size) scales.push_back(static_cast<double>(times));
  Expr factors = numbers_of(scales, {static_cast<int64_t>(scales.size())}, DataType::Float(32));
  return {in.from_channels_second(apply(in, "Resize", {x, nullptr, factors},
                                        {{"mode", mode},
                                         {"coordinate_transformation_mode", "half_pixel"},
                                         {"cubic_coeff_a", -0.5},
                                         {"exclude_outside", 1}}))};
}

/// Numbers before and after each spatial dimension: 2, (2, 3) or ((1, 2), (3, 4)); of one dimension 2 or (1, 2).
std::vector<std::array<int64_t, 2>> borders(const KerasLayer& in, const char* name, size_t spatial) {
  std::vector<ObjectRef> items = in.fields().list(name);
  std::vector<std::array<int64_t, 2>> out;
  for (const ObjectRef& item : items) {
    std::vector<ObjectRef> pair = list_of(item, name);
    if (pair.size() > 2) in.invalid(std::string(name) + " has more than two numbers of a dimension");
    int64_t before = integer_of(pair.at(0), name), after = integer_of(pair.at(pair.size() - 1), name);
    out.push_back({before, after});
  }
  if (spatial == 1 && out.size() == 2) out = {{out[0][0], out[1][0]}};
  if (out.size() == 1) out.resize(spatial, out[0]);
  if (out.size() != spatial) in.invalid(std::string(name) + " does not fit the data");
  for (const auto& [before, after] : out)
    if (before < 0 || after < 0) in.invalid(std::string(name) + " has a number below zero");
  return out;
}

Exprs zero_padding(KerasLayer& in) {
  Expr x = in.channels_second();
  std::vector<int64_t> before{0, 0}, after{0, 0};
  for (const auto& [first, last] : borders(in, "padding", in.spatial(x)))
    before.push_back(first), after.push_back(last);
  return {in.from_channels_second(pad_with(x, before, after, 0))};
}

Exprs cropping(KerasLayer& in) {
  Expr x = in.channels_second();
  int axis = 2;
  for (const auto& [first, last] : borders(in, "cropping", in.spatial(x))) {
    const int64_t* extent = as_int(in.shape(x)[static_cast<size_t>(axis)]);
    if (!extent) in.unsupported("a dynamic extent");
    if (first + last >= *extent) in.invalid("it crops all of the data");
    x = slice(x, axis++, first, *extent - last);
    typed(x);
  }
  return {in.from_channels_second(x)};
}

}  // namespace

KerasRows window_rows() {
  constexpr Order kSpatial = Order::Spatial;
  return {
      {"AveragePooling1D", average_pool, kSpatial},
      {"AveragePooling2D", average_pool, kSpatial},
      {"AveragePooling3D", average_pool, kSpatial},
      {"Conv1D", conv, kSpatial},
      {"Conv1DTranspose", conv_transpose, kSpatial},
      {"Conv2D", conv, kSpatial},
      {"Conv2DTranspose", conv_transpose, kSpatial},
      {"Conv3D", conv, kSpatial},
      {"Conv3DTranspose", conv_transpose, kSpatial},
      {"Cropping1D", cropping, kSpatial},
      {"Cropping2D", cropping, kSpatial},
      {"Cropping3D", cropping, kSpatial},
      {"DepthwiseConv1D", depthwise_conv, kSpatial},
      {"DepthwiseConv2D", depthwise_conv, kSpatial},
      {"GlobalAveragePooling1D", global_average_pool, kSpatial},
      {"GlobalAveragePooling2D", global_average_pool, kSpatial},
      {"GlobalAveragePooling3D", global_average_pool, kSpatial},
      {"GlobalMaxPooling1D", global_max_pool, kSpatial},
      {"GlobalMaxPooling2D", global_max_pool, kSpatial},
      {"GlobalMaxPooling3D", global_max_pool, kSpatial},
      {"MaxPooling1D", max_pool, kSpatial},
      {"MaxPooling2D", max_pool, kSpatial},
      {"MaxPooling3D", max_pool, kSpatial},
      {"SeparableConv1D", separable_conv, kSpatial},
      {"SeparableConv2D", separable_conv, kSpatial},
      {"UpSampling1D", upsampling, kSpatial},
      {"UpSampling2D", upsampling, kSpatial},
      {"UpSampling3D", upsampling, kSpatial},
      {"ZeroPadding1D", zero_padding, kSpatial},
      {"ZeroPadding2D", zero_padding, kSpatial},
      {"ZeroPadding3D", zero_padding, kSpatial},
  };
}

}  // namespace tessera::keras
