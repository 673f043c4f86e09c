// Convolutions, pools, and images in another size.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/mxnet/mxnet.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/conv.h"
#include "relay/attrs/image.h"
#include "relay/attrs/pool.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

std::vector<int64_t> both_sides(const Ints& pad) {
  std::vector<int64_t> out = pad;
  out.insert(out.end(), pad.begin(), pad.end());
  return out;
}
bool has_channels_last(const LayerNode& in) {
  const std::string layout = in.text("layout");
  return layout.size() > 2 && layout.back() == 'C';
}
/// (batch, ..., channels) as (batch, channels, ...), or back.
Expr moved(const LayerNode& in, const Expr& x, bool to_second) {
  const auto rank = static_cast<int64_t>(in.rank(x));
  std::vector<int64_t> axes{0};
  if (to_second) axes.push_back(rank - 1);
  for (int64_t i = to_second ? 1 : 2; i < rank - (to_second ? 1 : 0); ++i) axes.push_back(i);
  if (!to_second) axes.push_back(1);
  return typed(transpose(x, int_array(axes)));
}

Exprs convolved(LayerNode& in) {
  Ints kernel = in.fields().integers("kernel");
  const size_t spatial = kernel.size();
  const bool is_last = has_channels_last(in);
  Expr x = is_last ? moved(in, in[0], true) : in[0], weight = is_last ? moved(in, in[1], true) : in[1];
  Expr out = apply(in, "Conv", {x, weight, in.flag("no_bias") ? Expr() : in[2]},
                   {{"kernel_shape", kernel},
                    {"strides", std::vector<int64_t>(in.integers("stride", spatial, 1))},
                    {"dilations", std::vector<int64_t>(in.integers("dilate", spatial, 1))},
                    {"pads", both_sides(in.integers("pad", spatial, 0))},
                    {"group", in.integer("num_group", 1)}});
  return {is_last ? moved(in, typed(out), false) : out};
}

Exprs deconvolved(LayerNode& in) {
  Ints kernel = in.fields().integers("kernel");
  const size_t spatial = kernel.size();
  if (has_channels_last(in)) in.unsupported("channels last");
  Ints strides = in.integers("stride", spatial, 1), dilations = in.integers("dilate", spatial, 1),
       pad = in.integers("pad", spatial, 0), more = in.integers("adj", spatial, 0);
  std::vector<int64_t> pads = both_sides(pad);
  if (Ints target = in.fields().integers("target_shape");
      !target.empty() && std::any_of(target.begin(), target.end(), [](int64_t n) { return n != 0; })) {
    Ints shape = in.static_shape(in[0], "target_shape");
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t total = strides[i] * (shape[i + 2] - 1) + dilated(kernel[i], dilations[i]) - target[i];
      if (total < 0) in.invalid("target_shape is larger than the windows reach");
      more[i] = total % 2;
      pads[i] = (total + 1) / 2, pads[i + spatial] = (total + 1) / 2;
    }
  }
  return {apply(in, "ConvTranspose", {in[0], in[1], in.flag("no_bias", true) ? Expr() : in[2]},
                {{"kernel_shape", kernel},
                 {"strides", strides},
                 {"dilations", dilations},
                 {"pads", pads},
                 {"output_padding", std::vector<int64_t>(more)},
                 {"group", in.integer("num_group", 1)}})};
}

Exprs pooled(LayerNode& in) {
  const bool is_last = has_channels_last(in);
  Expr x = is_last ? moved(in, in[0], true) : in[0];
  const size_t spatial = in.spatial(x);
  const std::string kind = in.text("pool_type", "max");
  auto finish = [&](Expr out) { return Exprs{is_last ? moved(in, typed(out), false) : out}; };
  if (in.flag("global_pool")) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < spatial; ++i) axes.push_back(static_cast<int64_t>(i) + 2);
    if (kind == "max") return finish(reduce("max", x, int_array(axes), true));
    if (kind == "avg") return finish(mean(x, int_array(axes), true));
    if (kind == "sum") return finish(sum(x, int_array(axes), true));
    in.unsupported("a global pool of the kind " + kind);
  }
  Ints kernel = in.integers("kernel", spatial, 1);
  const std::string convention = in.text("pooling_convention", "valid");
  std::vector<onnx::Given> attributes{{"kernel_shape", kernel},
                                      {"strides", std::vector<int64_t>(in.integers("stride", spatial, 1))}};
  if (convention == "same") attributes.emplace_back("auto_pad", "SAME_UPPER");
  else attributes.emplace_back("pads", both_sides(in.integers("pad", spatial, 0)));
  if (convention == "full") attributes.emplace_back("ceil_mode", 1);
  if (kind == "max") return finish(apply(in, "MaxPool", {x}, attributes));
  if (kind == "lp") {
    attributes.emplace_back("p", in.integer("p_value", 2));
    return finish(apply(in, "LpPool", {x}, attributes));
  }
  const bool counts = in.flag("count_include_pad", true);
  if (kind == "sum") {
    attributes.emplace_back("p", 1);  // of numbers of one sign; others as their difference
    Expr zero = make_scalar(0, in.dtype(x));
    return finish(subtract(apply(in, "LpPool", {maximum(x, zero)}, attributes),
                           apply(in, "LpPool", {negative(minimum(x, zero))}, attributes)));
  }
  if (kind != "avg") in.unsupported("a pool of the kind " + kind);
  attributes.emplace_back("count_include_pad", counts);
  return finish(apply(in, "AveragePool", {x}, attributes));
}

Expr resized(const LayerNode& in, const Expr& x, int64_t height, int64_t width, const char* mode,
             const char* coordinates) {
  Ints shape = in.static_shape(x, "another size");
  Expr size = make_ints({shape[0], shape[1], height, width});
  return apply(in, "Resize", {x, nullptr, nullptr, size},
               {{"mode", mode}, {"coordinate_transformation_mode", coordinates}, {"nearest_mode", "floor"}});
}

Exprs upsampled(LayerNode& in) {
  const int64_t scale = in.integer("scale");
  if (scale < 1 || scale > 1000) in.invalid("scale is " + std::to_string(scale));
  if (in.text("sample_type") ==
      "bilinear") {  // its weight is an input, as a transposed convolution of each channel has it
    Ints shape = in.static_shape(in[1], "the weight");
    const int64_t kernel = 2 * scale - scale % 2, pad = (scale - 1 + 1) / 2;
    return {apply(in, "ConvTranspose", {in[0], in[1]},
                  {{"kernel_shape", std::vector<int64_t>{kernel, kernel}},
                   {"strides", std::vector<int64_t>{scale, scale}},
                   {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                   {"group", shape[0]}})};
  }
  Array<Expr> out;
  Ints first = in.static_shape(in[0], "upsampling");
  for (const Expr& x : in.inputs()) {
    Ints shape = in.static_shape(x, "upsampling");
    const auto times = static_cast<int>(first[2] * scale / std::max<int64_t>(shape[2], 1));
    out.push_back(repeat(repeat(x, times, 2), times, 3));
  }
  if (out.size() == 1) return {out[0]};
  if (in.text("multi_input_mode", "concat") == "concat") return {concatenate(out, 1)};
  Expr sum = out[0];
  for (size_t i = 1; i < out.size(); ++i) sum = add(sum, out[i]);
  return {sum};
}

Exprs bilinear_resize(LayerNode& in) {
  Ints shape = in.static_shape(in[0], "another size");
  int64_t height = in.integer("height", 1), width = in.integer("width", 1);
  const std::string mode = in.text("mode", "size");
  if (mode == "like" || in.size() > 1) {
    Ints like = in.static_shape(in[1], "another size");
    height = like[2], width = like[3];
  } else if (in.fields().has("scale_height")) {
    const double h = in.number("scale_height", 1), w = in.number("scale_width", 1);
    auto scaled = [&](int64_t extent, double by) { return static_cast<int64_t>(static_cast<double>(extent) * by); };
    height = scaled(shape[2], h), width = scaled(shape[3], w);
  } else if (mode != "size") {
    in.unsupported("the mode " + mode);
  }
  return {resized(in, in[0], height, width, "linear", in.flag("align_corners", true) ? "align_corners" : "half_pixel")};
}

Exprs adaptive_average(LayerNode& in) {
  Ints size = in.fields().integers("output_size", {1});
  if (size.size() == 1) size = {size[0], size[0]};
  return {call_op("nn.adaptive_avg_pool2d", {in[0]},
                  make_attrs<AdaptivePool2DAttrs>([&](auto& to) { to.output_size = int_array(size); }))};
}

Exprs correlation(LayerNode& in) {
  const int64_t pad = in.integer("pad_size", 0);
  return {call_op("nn.correlation", {in[0], in[1]}, make_attrs<CorrelationAttrs>([&](auto& to) {
                    to.kernel_size = static_cast<int32_t>(in.integer("kernel_size", 1));
                    to.max_displacement = static_cast<int32_t>(in.integer("max_displacement", 1));
                    to.stride1 = static_cast<int32_t>(in.integer("stride1", 1));
                    to.stride2 = static_cast<int32_t>(in.integer("stride2", 1));
                    to.padding = int_array({pad, pad, pad, pad});
                    to.is_multiply = in.flag("is_multiply", true);
                  }))};
}

Exprs grid_generator(LayerNode& in) {
  const std::string kind = in.text("transform_type");
  if (kind == "affine") {
    Ints shape = in.fields().integers("target_shape"), data = in.static_shape(in[0], "a grid");
    if (shape.size() != 2) in.invalid("target_shape must have two numbers");
    return {call_op("image.affine_grid", {reshape_to(in[0], {data[0], 2, 3})},
                    make_attrs<AffineGridAttrs>([&](auto& to) { to.target_shape = int_array(shape); }))};
  }
  if (kind != "warp") in.unsupported("a grid of the kind " + kind);
  // A flow in pixels: where each pixel stands, moved by it, from -1 to 1.
  Ints shape = in.static_shape(in[0], "a grid");
  std::vector<double> x, y;
  for (int64_t i = 0; i < shape[2]; ++i)
    for (int64_t j = 0; j < shape[3]; ++j) x.push_back(static_cast<double>(j)), y.push_back(static_cast<double>(i));
  x.insert(x.end(), y.begin(), y.end());
  Expr pixels = numbers_of(x, {1, 2, shape[2], shape[3]}, in.dtype(in[0]));
  Expr halves = numbers_of(
      {std::max(static_cast<double>(shape[3] - 1) / 2, 1e-9), std::max(static_cast<double>(shape[2] - 1) / 2, 1e-9)},
      {1, 2, 1, 1}, in.dtype(in[0]));
  return {subtract(divide(add(in[0], pixels), halves), make_scalar(1, in.dtype(in[0])))};
}
Exprs bilinear_sampler(LayerNode& in) {
  return {call_op("image.grid_sample", {in[0], in[1]}, make_attrs<GridSampleAttrs>([](auto& to) {
                    to.method = "bilinear";
                    to.padding_mode = "zeros";
                    to.align_corners = true;
                  }))};
}

/// MXNet takes the nearest pixel for positions between the last one and the border, and zero outside of the image, where
/// Relay's windows fade out: offsets that lead there lead onto the last pixel, or two pixels away from the image.
Expr offsets_within(LayerNode& in, const Ints& kernel) {
  const Ints image = in.static_shape(in[0], "the image"), shape = in.static_shape(in[1], "the offsets"),
             strides = in.integers("stride", 2, 1), pads = in.integers("pad", 2, 0),
             dilations = in.integers("dilate", 2, 1);
  if (image.size() != 4 || shape.size() != 4) in.invalid("the image and the offsets have four dimensions");
  const int64_t each = 2 * kernel[0] * kernel[1];
  if (each <= 0 || shape[1] % each) in.invalid("the offsets are not two for each element of the kernel");
  std::vector<double> starts, lasts, is_row, is_column;  // by channel: rows and columns in turn
  for (int64_t i = 0; i < shape[1]; ++i) {
    const size_t axis = i % 2;
    const int64_t element = i % each / 2, at = axis == 0 ? element / kernel[1] : element % kernel[1];
    starts.push_back(static_cast<double>(at * dilations[axis] - pads[axis]));
    lasts.push_back(static_cast<double>(image[axis + 2] - 1));
    is_row.push_back(axis == 0), is_column.push_back(axis == 1);
  }
  auto by_channel = [&](const std::vector<double>& values) {
    return numbers_of(values, {1, shape[1], 1, 1}, in.dtype(in[1]));
  };
  auto steps = [&](size_t axis) {
    std::vector<double> values;
    std::vector<int64_t> extents{1, 1, 1, 1};
    for (int64_t i = 0; i < shape[axis + 2]; ++i) values.push_back(static_cast<double>(i * strides[axis]));
    extents[axis + 2] = shape[axis + 2];
    return numbers_of(values, extents, in.dtype(in[1]));
  };
  Expr start =
      add(by_channel(starts), add(multiply(by_channel(is_row), steps(0)), multiply(by_channel(is_column), steps(1))));
  Expr last = by_channel(lasts), position = add(start, in[1]);
  Expr is_after = call_op("greater_equal", {position, make_scalar(0, in.dtype(in[1]))});
  Expr is_within = call_op("logical_and", {is_after, less(position, add(last, make_scalar(1, in.dtype(in[1]))))});
  Expr away = subtract(make_scalar(-2, in.dtype(in[1])), start);
  return typed(where(is_within, minimum(in[1], subtract(last, start)), away));
}

Exprs deformable(LayerNode& in) {
  Ints kernel = in.fields().integers("kernel"), weight = in.static_shape(in[2], "a convolution");
  if (kernel.size() != 2) in.invalid("the kernel must have two extents");
  Expr out = call_op("nn.deformable_conv2d", {in[0], offsets_within(in, kernel), in[2]},
                     make_attrs<DeformableConv2DAttrs>([&](auto& to) {
                       to.strides = int_array(in.integers("stride", 2, 1));
                       to.padding = int_array(both_sides(in.integers("pad", 2, 0)));
                       to.dilation = int_array(in.integers("dilate", 2, 1));
                       to.deformable_groups = static_cast<int32_t>(in.integer("num_deformable_group", 1));
                       to.groups = static_cast<int32_t>(in.integer("num_group", 1));
                       to.channels = PrimExpr(static_cast<int>(weight[0]));
                       to.kernel_size = int_array(kernel);
                     }));
  return {in.flag("no_bias") ? out : add(out, expand_dims(in[3], 1, 2))};
}

}  // namespace

LayerRows window_rows() {
  return {
      {"BilinearSampler", bilinear_sampler},
      {"Convolution", convolved},
      {"Convolution_v1", convolved},
      {"Correlation", correlation},
      {"Deconvolution", deconvolved},
      {"GridGenerator", grid_generator},
      {"Pooling", pooled},
      {"Pooling_v1", pooled},
      {"UpSampling", upsampled},
      {"_contrib_AdaptiveAvgPooling2D", adaptive_average},
      {"_contrib_BilinearResize2D", bilinear_resize},
      {"_contrib_DeformableConvolution", deformable},
  };
}

}  // namespace tessera::mxnet
