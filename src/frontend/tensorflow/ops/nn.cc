// Convolutions, pools and normalizations.

#include "frontend/tensorflow/nn.h"

#include <algorithm>
#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/tensorflow/shapes.h"
#include "ir/prim/ops.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::tensorflow {

using namespace relay;  // NOLINT: makers of calls

namespace {

constexpr const char* kLast[] = {"NWC", "NHWC", "NDHWC"};
constexpr const char* kFirst[] = {"NCW", "NCHW", "NCDHW"};
constexpr const char* kFilters[] = {"WIO", "HWIO", "DHWIO"};
constexpr const char* kFiltersFirst[] = {"OIW", "OIHW", "OIDHW"};

/// The axes that move channels from the end to behind the batch, or back.
Array<PrimExpr> channels_to_front(size_t rank) {
  std::vector<int64_t> out{0, static_cast<int64_t>(rank) - 1};
  for (size_t i = 1; i + 1 < rank; ++i) out.push_back(static_cast<int64_t>(i));
  return int_array(out);
}
Array<PrimExpr> channels_to_back(size_t rank) {
  std::vector<int64_t> out{0};
  for (size_t i = 2; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  out.push_back(1);
  return int_array(out);
}

/// (..., in, out) as (out, in, ...).
Expr filter_first(const NodeContext& in, const Expr& filter) {
  const auto rank = static_cast<int64_t>(in.rank(filter));
  std::vector<int64_t> out{rank - 1, rank - 2};
  for (int64_t i = 0; i + 2 < rank; ++i) out.push_back(i);
  return transpose(filter, int_array(out));
}

/// A border that a run decides, because the extents do; with windows as many as strides fit.
Expr padded_at_run_time(const NodeContext& in, const Expr& x, const Windows& windows, const Expr& value) {
  const DataType dtype = DataType::Int(64);
  auto number = [](int64_t value) { return make_ints({value}); };
  const size_t first = windows.channels_first ? 2 : 1, rank = in.rank(x);
  Array<Expr> widths;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axis < first || axis >= first + windows.spatial()) {
      widths.push_back(make_ints({0, 0}));
      continue;
    }
    const size_t i = axis - first;
    const int64_t stride = windows.strides[i], reach = dilated(windows.kernel[i], windows.dilations[i]);
    Expr extent = reshape(extent_at_run_time(in, x, static_cast<int>(axis)), int_array({1}));
    Expr count = call_op("floor_divide", {add(extent, number(stride - 1)), number(stride)});
    Expr total = add(multiply(subtract(count, number(1)), number(stride)), subtract(number(reach), extent));
    total = maximum(total, number(0));
    Expr before = call_op("floor_divide", {total, number(2)});
    widths.push_back(before);
    widths.push_back(subtract(total, before));
  }
  Expr all = reshape(concatenate(widths, 0), int_array({static_cast<int64_t>(rank), 2}));
  return call_op("dyn.nn.pad", {x, cast_if_needed(in, all, dtype), value}, make_attrs<PadAttrs>([](auto&) {}));
}

std::optional<Ints> spatial_extents(const NodeContext& in, const Expr& x, const Windows& windows) {
  const Array<PrimExpr> shape = in.shape(x);
  if (shape.size() != windows.spatial() + 2)
    in.invalid("the data has " + std::to_string(shape.size()) + " dimensions, not " +
               std::to_string(windows.spatial() + 2));
  Ints out;
  for (size_t i = 0; i < windows.spatial(); ++i) {
    const int64_t* extent = as_int(shape[i + (windows.channels_first ? 2 : 1)]);
    if (!extent) return std::nullopt;
    out.push_back(*extent);
  }
  return out;
}

Array<Expr> with_quantization(const Expr& data, const Expr& weight, const QuantizedArgs& integers) {
  return {data, weight, integers.data_zero, integers.filter_zero, integers.data_scale, integers.filter_scale};
}

void check_windows(const NodeContext& in, const Windows& windows) {
  if (windows.strides.size() != windows.spatial() || windows.dilations.size() != windows.spatial())
    in.invalid("strides and dilations have a number for each spatial dimension");
  for (const Ints* list : {&windows.kernel, &windows.strides, &windows.dilations})
    for (int64_t number : *list)
      if (number < 1 || number > INT32_MAX / 4)
        in.invalid("a window size, stride or dilation of " + std::to_string(number));
}

/// The data with its padding, or that padding as numbers.
Ints resolved_padding(const NodeContext& in, Expr* x, const Windows& windows, const Expr& value) {
  check_windows(in, windows);
  std::optional<Ints> extents = spatial_extents(in, *x, windows);
  const bool is_same = windows.padding == "SAME";
  if (extents || !is_same) return padding_of(in, windows, extents ? *extents : Ints(windows.spatial(), 1));
  bool has_strides = false;
  for (int64_t stride : windows.strides) has_strides |= stride != 1;
  if (!has_strides)
    return padding_of(in, windows, Ints(windows.spatial(), 1 << 20));  // without strides extents do not count
  *x = padded_at_run_time(in, *x, windows, value);
  return Ints(2 * windows.spatial(), 0);
}

}  // namespace

Ints padding_of(const NodeContext& in, const Windows& windows, const Ints& extents) {
  const size_t spatial = windows.spatial();
  if (windows.padding == "VALID") return Ints(2 * spatial, 0);
  if (windows.padding == "SAME")
    return same_padding(extents, windows.kernel, windows.strides, windows.dilations, false);
  if (windows.padding != "EXPLICIT") in.unsupported("the padding " + windows.padding);
  if (windows.pads.size() != 2 * spatial) in.invalid("explicit padding has two numbers for each spatial dimension");
  return windows.pads;
}

Expr convolution_of(Operation& in, const Expr& data, const Expr& filter, Windows windows, int64_t groups,
                    const QuantizedArgs* integers) {
  const size_t spatial = windows.spatial();
  if (spatial < 1 || spatial > 3) in.unsupported("a convolution over " + std::to_string(spatial) + " dimensions");
  const size_t rank = spatial + 2;
  if (in.rank(filter) != rank || in.rank(data) != rank)
    in.invalid("data and filter have " + std::to_string(rank) + " dimensions");
  const bool flips = !windows.channels_first && spatial == 2 && in.importer().target_layout() == "NCHW";
  Expr x = flips ? transpose(data, channels_to_front(rank)) : data;
  if (flips) windows.channels_first = true;
  const Ints padding = resolved_padding(
      in, &x, windows, integers ? cast(integers->data_zero, in.dtype(data)) : make_scalar(0, in.dtype(data)));
  const bool first = windows.channels_first;
  const PrimExpr channels = in.shape(filter)[rank - 1];
  Expr weight = first ? filter_first(in, filter) : filter;
  auto fill = [&](auto& attrs) {
    attrs.strides = int_array(windows.strides);
    attrs.padding = int_array(padding);
    attrs.dilation = int_array(windows.dilations);
    attrs.groups = static_cast<int32_t>(groups);
    attrs.channels = channels;
    attrs.kernel_size = int_array(windows.kernel);
    attrs.data_layout = (first ? kFirst : kLast)[spatial - 1];
    attrs.kernel_layout = (first ? kFiltersFirst : kFilters)[spatial - 1];
    if (integers) attrs.out_dtype = DataType::Int(32);
  };
  Expr out;
  if (integers && spatial != 2)
    in.unsupported("integers in a convolution over " + std::to_string(spatial) + " dimensions");
  if (integers) out = call_op("qnn.conv2d", with_quantization(x, weight, *integers), make_attrs<Conv2DAttrs>(fill));
  else if (spatial == 1) out = call_op("nn.conv1d", {x, weight}, make_attrs<Conv1DAttrs>(fill));
  else if (spatial == 2) out = call_op("nn.conv2d", {x, weight}, make_attrs<Conv2DAttrs>(fill));
  else out = call_op("nn.conv3d", {x, weight}, make_attrs<Conv3DAttrs>(fill));
  return flips ? transpose(out, channels_to_back(rank)) : out;
}

Expr depthwise_filter(const NodeContext& in, const Expr& filter) {
  Ints shape = in.static_shape(filter, "the filter of a depthwise convolution");
  if (shape.size() != 4) in.invalid("the filter has four dimensions");
  return reshape_to(filter, {shape[0], shape[1], 1, shape[2] * shape[3]});
}

Expr transposed_convolution(Operation& in, const Expr& data, const Expr& filter, const Ints& out,
                            const Windows& windows, const QuantizedArgs* integers) {
  const size_t spatial = windows.spatial(), rank = spatial + 2;
  if (spatial != 2 && spatial != 3)
    in.unsupported("a transposed convolution over " + std::to_string(spatial) + " dimensions");
  check_windows(in, windows);
  std::optional<Ints> extents = spatial_extents(in, data, windows);
  if (!extents) in.unknown("the extents of the image must be known", data);
  Ints padding(2 * spatial, 0), more(spatial, 0);
  Ints pads = windows.padding == "EXPLICIT" ? windows.pads : Ints();
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t whole = ((*extents)[i] - 1) * windows.strides[i] + dilated(windows.kernel[i], windows.dilations[i]);
    if (!pads.empty()) padding[i] = pads[i], padding[i + spatial] = pads[i + spatial];
    const int64_t left = whole - padding[i] - padding[i + spatial] - out[i];
    if (windows.padding == "SAME" && left > 0) padding[i] = left / 2, padding[i + spatial] = left - left / 2;
    else if (left <= 0) more[i] = -left;
    else padding[i + spatial] += left;
    if (more[i] >= std::max(windows.strides[i], windows.dilations[i]) && more[i] > 0)
      in.invalid("the output is larger than the windows reach");
  }
  Expr x = windows.channels_first ? data : transpose(data, channels_to_front(rank));
  std::vector<int64_t> order{static_cast<int64_t>(rank) - 1, static_cast<int64_t>(rank) - 2};
  for (size_t i = 0; i < spatial; ++i) order.push_back(static_cast<int64_t>(i));
  Expr weight = transpose(filter, int_array(order));  // (in, out, ...)
  auto fill = [&](auto& attrs) {
    attrs.channels = in.shape(filter)[rank - 2];
    attrs.kernel_size = int_array(windows.kernel);
    attrs.strides = int_array(windows.strides);
    attrs.output_padding = int_array(more);
    attrs.padding = int_array(padding);
    attrs.dilation = int_array(windows.dilations);
    if (spatial == 2) attrs.kernel_layout = "IOHW";  // over three dimensions the default, "OIDHW", means (in, out, ...)
    if (integers) attrs.out_dtype = DataType::Int(32);
  };
  if (integers && spatial != 2)
    in.unsupported("integers in a transposed convolution over " + std::to_string(spatial) + " dimensions");
  Expr result = integers       ? call_op("qnn.conv2d_transpose", with_quantization(x, weight, *integers),
                                         make_attrs<Conv2DTransposeAttrs>(fill))
                : spatial == 2 ? call_op("nn.conv2d_transpose", {x, weight}, make_attrs<Conv2DTransposeAttrs>(fill))
                               : call_op("nn.conv3d_transpose", {x, weight}, make_attrs<Conv3DTransposeAttrs>(fill));
  return windows.channels_first ? result : transpose(result, channels_to_back(rank));
}

Expr pool_of(Operation& in, const Expr& data, Pool kind, Windows windows) {
  const size_t spatial = windows.spatial(), rank = spatial + 2;
  if (spatial < 1 || spatial > 3) in.unsupported("a pool over " + std::to_string(spatial) + " dimensions");
  const bool flips = !windows.channels_first && spatial == 2 && in.importer().target_layout() == "NCHW";
  Expr x = flips ? transpose(data, channels_to_front(rank)) : data;
  if (flips) windows.channels_first = true;
  std::optional<Ints> extents = spatial_extents(in, x, windows);
  if (!extents && windows.padding == "SAME" && kind == Pool::Average)
    in.unknown("the extents of a padded average must be known", x);
  Expr value = kind == Pool::Max ? make_scalar(in.dtype(data).is_floating() ? -INFINITY : 0, in.dtype(data)) : Expr();
  const Ints padding = resolved_padding(in, &x, windows, value);
  auto fill = [&](auto& attrs) {
    attrs.pool_size = int_array(windows.kernel);
    attrs.strides = int_array(windows.strides);
    attrs.dilation = int_array(windows.dilations);
    attrs.padding = int_array(padding);
    attrs.layout = (windows.channels_first ? kFirst : kLast)[spatial - 1];
  };
  const std::string dims = std::to_string(spatial) + "d";
  Expr out;
  if (kind == Pool::Max) {
    if (spatial == 1) out = call_op("nn.max_pool1d", {x}, make_attrs<MaxPool1DAttrs>(fill));
    else if (spatial == 2) out = call_op("nn.max_pool2d", {x}, make_attrs<MaxPool2DAttrs>(fill));
    else out = call_op("nn.max_pool3d", {x}, make_attrs<MaxPool3DAttrs>(fill));
  } else {
    if (spatial == 1) out = call_op("nn.avg_pool1d", {x}, make_attrs<AvgPool1DAttrs>(fill));
    else if (spatial == 2) out = call_op("nn.avg_pool2d", {x}, make_attrs<AvgPool2DAttrs>(fill));
    else out = call_op("nn.avg_pool3d", {x}, make_attrs<AvgPool3DAttrs>(fill));
  }
  return flips ? transpose(out, channels_to_back(rank)) : out;
}

Expr with_bias(const Expr& x, const Expr& bias, int axis) {
  return call_op("nn.bias_add", {x, bias}, make_attrs<BiasAddAttrs>([&](auto& attrs) { attrs.axis = axis; }));
}

namespace {

/// What the attribute data_format says of a tensor with so many spatial dimensions.
bool is_channels_first(Operation& in) {
  const std::string layout = in.text("data_format", "NHWC");
  if (layout == "NHWC" || layout == "NDHWC" || layout == "NWC") return false;
  if (layout == "NCHW" || layout == "NCDHW" || layout == "NCW") return true;
  in.unsupported("the layout " + layout);
}

/// The numbers of the spatial dimensions, of those of all.
Ints spatial_part(Operation& in, const Ints& all, bool first) {
  if (all.size() < 3) in.invalid("there must be a number for each dimension");
  return first ? Ints(all.begin() + 2, all.end()) : Ints(all.begin() + 1, all.end() - 1);
}

Windows windows_of(Operation& in, size_t spatial, const Ints& kernel) {
  Windows out;
  out.channels_first = is_channels_first(in);
  const std::vector<int64_t> ones(spatial + 2, 1);
  out.kernel = kernel;
  out.strides = spatial_part(in, in.integers("strides", ones), out.channels_first);
  Ints dilations = in.integers("dilations", ones);
  if (dilations.size() == spatial) out.dilations = dilations;
  else out.dilations = spatial_part(in, dilations, out.channels_first);
  out.padding = in.text("padding", "VALID");
  if (out.padding == "EXPLICIT") {
    Ints given = in.integers("explicit_paddings");
    if (given.size() != 2 * (spatial + 2)) in.invalid("explicit_paddings has two numbers for each dimension");
    out.pads = Ints(2 * spatial, 0);
    for (size_t i = 0; i < spatial; ++i) {
      const size_t axis = i + (out.channels_first ? 2 : 1);
      out.pads[i] = given[2 * axis];
      out.pads[i + spatial] = given[2 * axis + 1];
    }
  }
  return out;
}

Ints filter_extents(Operation& in, const Expr& filter, size_t spatial) {
  Ints shape = in.static_shape(filter, "the filter of a convolution");
  if (shape.size() != spatial + 2) in.invalid("the filter has " + std::to_string(spatial + 2) + " dimensions");
  return Ints(shape.begin(), shape.begin() + static_cast<int64_t>(spatial));
}

Converter conv(size_t spatial) {
  return [spatial](Operation& in) {
    Windows windows = windows_of(in, spatial, filter_extents(in, in[1], spatial));
    const Array<PrimExpr> shape = in.shape(in[0]);
    if (shape.size() != spatial + 2) in.invalid("the data has " + std::to_string(spatial + 2) + " dimensions");
    const int64_t* channels = as_int(shape[windows.channels_first ? 1 : spatial + 1]);
    const int64_t own = in.static_shape(in[1], "the filter")[spatial];
    if (own < 1 || (channels && *channels % own)) in.invalid("the channels of data and filter do not fit");
    return Values{convolution_of(in, in[0], in[1], windows, channels ? *channels / own : 1)};
  };
}

Values depthwise_conv(Operation& in) {
  Windows windows = windows_of(in, 2, filter_extents(in, in[1], 2));
  return {convolution_of(in, in[0], depthwise_filter(in, in[1]), windows, in.static_shape(in[1], "the filter")[2])};
}

/// Inputs: the shape of the result, the filter, the data.
Converter conv_backprop(size_t spatial) {
  return [spatial](Operation& in) {
    Windows windows = windows_of(in, spatial, filter_extents(in, in[1], spatial));
    Ints shape = in.ints(0, "the shape of the result");
    Ints out = shape.size() == spatial ? shape : spatial_part(in, shape, windows.channels_first);
    return Values{transposed_convolution(in, in[2], in[1], out, windows)};
  };
}

Converter pool(Pool kind, size_t spatial) {
  return [kind, spatial](Operation& in) {
    Ints kernel = in.integers("ksize");
    if (in.size() == 3) in.unsupported("windows that are inputs");
    if (kernel.size() != spatial + 2) in.invalid("ksize has a number for each dimension");
    Windows windows = windows_of(in, spatial, spatial_part(in, kernel, is_channels_first(in)));
    const size_t channel = windows.channels_first ? 1 : spatial + 1;
    if (kernel[0] != 1 || kernel[channel] != 1) in.unsupported("windows over the batch or channels");
    return Values{pool_of(in, in[0], kind, windows)};
  };
}

Values bias_add(Operation& in) {
  const int axis = is_channels_first(in) ? 1 : static_cast<int>(in.rank(in[0])) - 1;
  return {with_bias(in[0], in[1], axis)};
}

Expr batch_norm_call(const Expr& x, const Expr& scale, const Expr& offset, const Expr& mean, const Expr& variance,
                     int axis, double epsilon) {
  return make_get_item(
      call_op("nn.batch_norm", {x, scale, offset, mean, variance}, make_attrs<BatchNormAttrs>([&](auto& attrs) {
                attrs.axis = axis;
                attrs.epsilon = epsilon;
              })),
      0);
}

Values fused_batch_norm(Operation& in) {
  const DataType given = in.dtype(in[0]), wide = in.dtype(in[1]);
  const size_t rank = in.rank(in[0]);
  const int axis = is_channels_first(in) ? 1 : static_cast<int>(rank) - 1;
  const double epsilon = in.number("epsilon", 1e-4);
  Expr x = cast_if_needed(in, in[0], wide), mean_value, variance;
  if (!in.flag("is_training", true)) {
    mean_value = in[3], variance = in[4];
    Expr y = cast_if_needed(in, batch_norm_call(x, in[1], in[2], mean_value, variance, axis, epsilon), given);
    return {y, mean_value, variance, mean_value, variance, make_scalar(0, wide)};
  }
  Array<PrimExpr> kept = int_array({axis});
  mean_value = mean(x, kept, false, true);
  Expr apart = subtract(x, expand_to_axes(mean_value, {axis}, static_cast<int>(rank)));
  variance = mean(multiply(apart, apart), kept, false, true);
  Expr y = cast_if_needed(in, batch_norm_call(x, in[1], in[2], mean_value, variance, axis, epsilon), given);
  Ints shape = in.static_shape(in[0], "a batch norm in training");
  const double count = static_cast<double>(product_of(shape)) /
                       static_cast<double>(std::max<int64_t>(shape[static_cast<size_t>(axis)], 1));
  Expr unbiased = multiply(variance, make_scalar(count > 1 ? count / (count - 1) : 1, wide));
  return {y, mean_value, unbiased, mean_value, variance, make_scalar(0, wide)};
}

/// Inputs: data, mean, variance, offset, scale.
Values batch_norm_global(Operation& in) {
  const int axis = static_cast<int>(in.rank(in[0])) - 1;
  Expr scale = in.flag("scale_after_normalization", true) ? in[4] : ones_like(in[1]);
  return {batch_norm_call(in[0], scale, in[3], in[1], in[2], axis, in.number("variance_epsilon", 1e-3))};
}

Values lrn(Operation& in) {
  const int64_t size = 2 * in.integer("depth_radius", 5) + 1;
  if (size < 1 || size > INT32_MAX) in.invalid("the radius of a normalization");
  return {call_op("nn.lrn", {in[0]}, make_attrs<LRNAttrs>([&](auto& attrs) {
                    attrs.size = static_cast<int32_t>(size);
                    attrs.axis = 3;
                    attrs.bias = in.number("bias", 1);
                    attrs.alpha = in.number("alpha", 1) * static_cast<double>(size);
                    attrs.beta = in.number("beta", 0.5);
                  }))};
}

Values l2_loss(Operation& in) { return {multiply(sum(multiply(in[0], in[0])), make_scalar(0.5, in.dtype(in[0])))}; }

Values dilation2d(Operation& in) {
  Ints shape = in.static_shape(in[1], "the filter of a dilation");
  if (shape.size() != 3) in.invalid("the filter has three dimensions");
  Windows windows;
  windows.kernel = Ints{shape[0], shape[1]};
  windows.strides = spatial_part(in, in.integers("strides", {1, 1, 1, 1}), false);
  windows.dilations = spatial_part(in, in.integers("rates", {1, 1, 1, 1}), false);
  windows.padding = in.text("padding", "VALID");
  Expr x = in[0];
  Ints padding = resolved_padding(in, &x, windows, make_scalar(in.dtype(x).is_floating() ? -INFINITY : 0, in.dtype(x)));
  return {call_op("image.dilation2d", {x, in[1]}, make_attrs<Dilation2DAttrs>([&](auto& attrs) {
                    attrs.strides = int_array(windows.strides);
                    attrs.padding = int_array(padding);
                    attrs.dilations = int_array(windows.dilations);
                    attrs.data_layout = "NHWC";
                    attrs.kernel_layout = "HWI";
                  }))};
}

}  // namespace

Rows nn_rows() {
  const std::vector<const char*> norm{
      "y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"};
  return {
      {"AvgPool", pool(Pool::Average, 2)},
      {"AvgPool3D", pool(Pool::Average, 3)},
      {"BatchNormWithGlobalNormalization", batch_norm_global},
      {"BiasAdd", bias_add},
      {"BiasAddV1", bias_add},
      {"Conv2D", conv(2)},
      {"Conv2DBackpropInput", conv_backprop(2)},
      {"Conv3D", conv(3)},
      {"Conv3DBackpropInputV2", conv_backprop(3)},
      {"DepthwiseConv2dNative", depthwise_conv},
      {"Dilation2D", dilation2d},
      {"FusedBatchNorm", fused_batch_norm, norm},
      {"FusedBatchNormV2", fused_batch_norm, norm},
      {"FusedBatchNormV3", fused_batch_norm, norm},
      {"L2Loss", l2_loss},
      {"LRN", lrn},
      {"MaxPool", pool(Pool::Max, 2)},
      {"MaxPool3D", pool(Pool::Max, 3)},
  };
}

}  // namespace tessera::tensorflow
