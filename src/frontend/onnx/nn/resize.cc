// Resize and Upsample: one axis after another, each as a sum of a few shifted copies whose indices and weights are
// computed while importing.

#include "frontend/onnx/nn/resize.h"
#include "frontend/common/parts.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

#include <cmath>

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls
using Options = ResizeOptions;

/// One axis: how it is scaled, and which part of it is looked at.
struct Axis {
  int64_t in = 1, out = 1;
  double scale = 1, begin = 0, end = 1;
};

/// Where in the data position `x` of the result lies.
double source_of(Operation& in, const Options& options, const Axis& axis, double x) {
  auto width = static_cast<double>(axis.in);
  double wanted = axis.scale * width;  // of the result, before it is rounded down to a whole number
  const std::string& mode = options.coordinates;
  if (mode == "align_corners") return wanted == 1 ? 0 : x * (width - 1) / (wanted - 1);
  if (mode == "asymmetric") return x / axis.scale;
  if (mode == "tf_crop_and_resize") {
    double part = axis.end - axis.begin;
    double offset = wanted == 1 ? part * (width - 1) / 2 : x * part * (width - 1) / (wanted - 1);
    return offset + axis.begin * (width - 1);
  }
  if (mode == "pytorch_half_pixel" && wanted == 1) return -0.5;
  if (mode == "pytorch_half_pixel" || mode == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (mode == "half_pixel_symmetric") {
    double adjustment = static_cast<double>(axis.out) / wanted;
    return width / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  in.unsupported("the coordinate transformation " + mode);
}

double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

/// Weights of the elements around a point that lies `ratio` in (0, 1] behind the one on its left.
std::vector<double> weights_of(Operation& in, const Options& options, double ratio, double scale) {
  if (options.mode == "nearest") {
    bool right = ratio == 1;
    if (ratio != 1) {
      if (options.nearest == "round_prefer_floor") right = ratio > 0.5;
      else if (options.nearest == "round_prefer_ceil") right = ratio >= 0.5;
      else if (options.nearest == "ceil") right = true;
      else if (options.nearest != "floor") in.unsupported("the nearest mode " + options.nearest);
    }
    return {right ? 0.0 : 1.0, right ? 1.0 : 0.0};
  }
  std::vector<double> out;
  double shrunk = options.antialias ? std::min(scale, 1.0) : 1;
  if (options.mode == "linear") {
    auto start = static_cast<int64_t>(std::floor(-1 / shrunk) + 1);
    for (int64_t i = start; i < 2 - start; ++i)
      out.push_back(std::clamp(1 - std::abs((static_cast<double>(i) - ratio) * shrunk), 0.0, 1.0));
  } else if (options.mode == "cubic") {
    auto start = static_cast<int64_t>(std::floor(-2 / shrunk) + 1);
    for (int64_t i = start; i < 2 - start; ++i)
      out.push_back(cubic_weight((static_cast<double>(i) - ratio) * shrunk, options.cubic));
  } else {
    in.unsupported("the mode " + options.mode);
  }
  if (!options.antialias) return out;
  double total = 0;
  for (double weight : out) total += weight;
  for (double& weight : out) weight /= total;
  return out;
}

/// For each index of the result so many (element, weight); an empty row lies outside and gets a value of its own.
struct Taps {
  std::vector<std::vector<int64_t>> indices;
  std::vector<std::vector<double>> weights;
  std::vector<bool> is_outside;
};

Taps taps_of(Operation& in, const Options& options, const Axis& axis) {
  Taps out;
  for (int64_t i = 0; i < axis.out; ++i) {
    double x = source_of(in, options, axis, static_cast<double>(i)), left = std::floor(x);
    double ratio = x == left ? 1 : x - left;
    std::vector<double> weights = weights_of(in, options, ratio, axis.scale);
    auto count = static_cast<int64_t>(weights.size());  // always even: half of them lie on either side
    int64_t start = static_cast<int64_t>(left) - count / 2 + (x == left ? 0 : 1);
    std::vector<int64_t> indices;
    double total = 0;
    for (int64_t k = 0; k < count; ++k) {
      bool is_in = start + k >= 0 && start + k < axis.in;
      if (options.exclude_outside && !is_in) weights[static_cast<size_t>(k)] = 0;
      total += weights[static_cast<size_t>(k)];
      indices.push_back(std::clamp<int64_t>(start + k, 0, axis.in - 1));
    }
    if (options.exclude_outside && total != 0)
      for (double& weight : weights) weight /= total;
    bool crops = options.coordinates == "tf_crop_and_resize";
    out.is_outside.push_back(crops && (x < 0 || x > static_cast<double>(axis.in - 1)));
    out.indices.push_back(std::move(indices));
    out.weights.push_back(std::move(weights));
  }
  return out;
}

Expr along(Expr x, const Taps& taps, int axis, int rank, DataType dtype, const Options& options) {
  size_t count = taps.indices.size(), width = count ? taps.indices[0].size() : 0;
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = static_cast<int64_t>(count);
  Expr out;
  if (options.mode == "nearest") {
    std::vector<int64_t> chosen;
    for (size_t i = 0; i < count; ++i) chosen.push_back(taps.indices[i][taps.weights[i][0] != 0 ? 0 : 1]);
    out = take(x, make_ints(chosen), axis);
  } else {
    for (size_t k = 0; k < width; ++k) {
      std::vector<int64_t> indices;
      std::vector<double> weights;
      for (size_t i = 0; i < count; ++i) indices.push_back(taps.indices[i][k]), weights.push_back(taps.weights[i][k]);
      Expr part = multiply(take(x, make_ints(indices), axis), numbers_of(weights, shape, dtype));
      out = out.defined() ? add(out, part) : part;
    }
  }
  bool any_outside = false;
  std::vector<double> mask;
  for (bool is_outside : taps.is_outside) any_outside = any_outside || is_outside, mask.push_back(is_outside);
  if (!any_outside) return out;
  return where(numbers_of(mask, shape, DataType::Bool()), make_scalar(options.outside, dtype), out);
}

Values resized(Operation& in, const Options& options, const std::vector<Axis>& axes) {
  Expr x = in[0];
  DataType dtype = in.dtype(x), work = dtype;
  if (options.mode != "nearest" && (!is_float(dtype) || dtype.bits < 32)) work = DataType::Float(32);
  auto rank = static_cast<int>(axes.size());
  Expr out = cast_if_needed(in, x, work);
  for (int i = 0; i < rank; ++i) {
    const Axis& axis = axes[static_cast<size_t>(i)];
    bool is_whole = options.coordinates != "tf_crop_and_resize" || (axis.begin == 0 && axis.end == 1);
    if (axis.in == axis.out && std::abs(axis.scale - 1) < 1e-9 && is_whole) continue;
    out = along(out, taps_of(in, options, axis), i, rank, work, options);
  }
  if (work != dtype && !is_float(dtype)) {
    double low = dtype.code == DataType::kUInt ? 0 : -std::ldexp(1.0, dtype.bits - 1);
    double high = std::ldexp(1.0, dtype.code == DataType::kUInt ? dtype.bits : dtype.bits - 1) - 1;
    out = clip(round_to_even(out), low, high);
  }
  return {cast_if_needed(in, out, dtype)};
}

std::vector<double> needed_numbers(Operation& in, const Expr& expr, const char* what) {
  std::optional<NDArray> data = in.constant(expr);
  if (!data) in.unknown(std::string(what) + " must be known", expr);
  std::vector<double> out;
  for (int64_t i = 0; i < data->size(); ++i)
    out.push_back(read_float(data->dtype(), data->data<char>() + i * int64_t(data->dtype().bytes())));
  return out;
}

/// An input may be there and hold nothing.
bool is_given(Operation& in, size_t i) {
  if (!in.has(i)) return false;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[i]);
  return !shape || product_of(*shape) != 0;
}

/// An extent of the data or the result; tables are made for each of its indices.
int64_t checked_extent(Operation& in, double extent) {
  constexpr double kMax = 1 << 24;
  if (!(extent >= 0 && extent <= kMax)) in.invalid("an extent of " + std::to_string(extent) + " cannot be resized");
  return static_cast<int64_t>(extent);
}

std::vector<Axis> axes_by_scale(Operation& in, const std::vector<double>& scales, const std::vector<int64_t>& which) {
  std::vector<int64_t> shape = in.static_shape(in[0], "Resize");
  std::vector<Axis> out;
  for (int64_t extent : shape) out.push_back({extent, extent});
  if (scales.size() != which.size()) in.invalid("there are not as many scales as axes");
  for (size_t i = 0; i < which.size(); ++i) {
    Axis& axis = out[static_cast<size_t>(in.axis(which[i], shape.size()))];
    axis.scale = scales[i];
    if (axis.scale == 1) continue;
    checked_extent(in, static_cast<double>(axis.in));
    axis.out = checked_extent(in, std::floor(scales[i] * static_cast<double>(axis.in)));
  }
  return out;
}

std::vector<Axis> axes_by_size(Operation& in, const std::vector<int64_t>& sizes, const std::vector<int64_t>& which,
                               const std::string& policy) {
  std::vector<int64_t> shape = in.static_shape(in[0], "Resize");
  std::vector<Axis> out;
  for (int64_t extent : shape) out.push_back({extent, extent});
  if (sizes.size() != which.size()) in.invalid("there are not as many sizes as axes");
  std::vector<double> scales;
  for (size_t i = 0; i < which.size(); ++i) {
    Axis& axis = out[static_cast<size_t>(in.axis(which[i], shape.size()))];
    if (sizes[i] != axis.in) checked_extent(in, static_cast<double>(axis.in));
    axis.out = sizes[i] == axis.in ? axis.in : checked_extent(in, static_cast<double>(sizes[i]));
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.in);
    scales.push_back(axis.scale);
  }
  if (policy == "stretch") return out;
  if (policy != "not_larger" && policy != "not_smaller") in.unsupported("the policy " + policy);
  if (scales.empty()) in.invalid("there are no axes to resize");
  double scale = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                        : *std::max_element(scales.begin(), scales.end());
  for (int64_t given : which) {
    Axis& axis = out[static_cast<size_t>(in.axis(given, shape.size()))];
    axis.scale = scale;
    axis.out = checked_extent(in, std::floor(scale * static_cast<double>(axis.in) + 0.5));
  }
  return out;
}

std::vector<int64_t> all_axes(Operation& in) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < in.rank(in[0]); ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}

/// Version 10, and Upsample: positions are divided by the scale, and the nearest element is the one before.
Options plain_options(Operation& in) {
  Options out;
  out.mode = in.text("mode", "nearest");
  if (out.mode == "bilinear") out.mode = "linear";
  out.coordinates = "asymmetric";
  out.nearest = "floor";
  return out;
}
Values resize_10(Operation& in) {
  if (!in.fixed_shape(in[0]) || !in.constant(in[1]))
    return {resized_at_run_time(in, plain_options(in), all_axes(in), in[1], false)};
  return resized(in, plain_options(in), axes_by_scale(in, needed_numbers(in, in[1], "scales"), all_axes(in)));
}
Values upsample_7(Operation& in) {
  std::vector<double> scales;
  if (in.has_attribute("scales")) {
    for (float scale : in.numbers("scales")) scales.push_back(scale);
  } else {
    scales = {1, 1, in.number("height_scale", 1), in.number("width_scale", 1)};
  }
  return resized(in, plain_options(in), axes_by_scale(in, scales, all_axes(in)));
}

/// Inputs: data, the part that is looked at, scales, sizes.
Values resize_11(Operation& in) {
  Options options;
  options.mode = in.text("mode", "nearest");
  options.coordinates = in.text("coordinate_transformation_mode", "half_pixel");
  options.nearest = in.text("nearest_mode", "round_prefer_floor");
  options.policy = in.text("keep_aspect_ratio_policy", "stretch");
  options.cubic = in.number("cubic_coeff_a", -0.75);
  options.outside = in.number("extrapolation_value", 0);
  options.antialias = in.integer("antialias", 0) != 0;
  options.exclude_outside = in.integer("exclude_outside", 0) != 0;
  std::vector<int64_t> which = in.integers("axes", all_axes(in));
  std::vector<Axis> axes;
  Expr asked = is_given(in, 3) ? in[3] : is_given(in, 2) ? in[2] : Expr();
  if (asked.defined() && (!in.fixed_shape(in[0]) || !in.constant(asked)))
    return {resized_at_run_time(in, options, which, asked, is_given(in, 3))};
  if (is_given(in, 3)) axes = axes_by_size(in, in.needed_ints(in[3], "sizes"), which, options.policy);
  else if (is_given(in, 2)) axes = axes_by_scale(in, needed_numbers(in, in[2], "scales"), which);
  else in.invalid("neither scales nor sizes are given");
  if (options.coordinates == "tf_crop_and_resize") {
    std::vector<double> part = needed_numbers(in, in[1], "roi");
    if (part.size() != 2 * which.size()) in.invalid("roi has not two numbers for each axis");
    for (size_t i = 0; i < which.size(); ++i) {
      Axis& axis = axes[static_cast<size_t>(in.axis(which[i], axes.size()))];
      axis.begin = part[i];
      axis.end = part[i + which.size()];
    }
  }
  return resized(in, options, axes);
}

}  // namespace

Rows resize_rows() {
  return {
      {"Resize", 10, resize_10},
      {"Resize", 11, resize_11},
      {"Upsample", 1, upsample_7},
      {"Upsample", 9, resize_10},
  };
}

}  // namespace tessera::onnx
