// Windows over signals and images as rows.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/ops/windows.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The short-time Fourier transform, (.., frequencies, frames, 2).
Values short_time_fourier_of(Operation& in) {
  Expr x = in[0];
  const int64_t length = in.integer("n_fft"), hop = in.integer("hop_length", length / 4),
                win = in.integer("win_length", length);
  const bool has_batch = in.rank(x) == 2;
  if (!has_batch) x = expand_dims(x, 0);
  if (length < 1 || hop < 1 || win < 1 || win > length) in.invalid("the lengths do not fit each other");
  if (in.flag("center", false))
    x = onnx::apply(in, "Pad", {x, make_ints({0, length / 2, 0, length / 2})},
                    {{"mode", in.text("pad_mode", "reflect")}});
  Expr window = in.has("window") ? in["window"] : filled(1, {win}, in.dtype(x));
  Expr out = call_op("stft", {x, window}, make_attrs<StftAttrs>([&](auto& attrs) {
                       attrs.n_fft = static_cast<int32_t>(length);
                       attrs.hop_length = static_cast<int32_t>(hop);
                       attrs.win_length = static_cast<int32_t>(win);
                       attrs.normalized = in.flag("normalized", false);
                       attrs.onesided = in.flag("onesided", true);
                     }));
  Value pairs(has_batch ? out : squeeze(out, int_array({0})));
  pairs.is_complex = in.flag("return_complex", false);
  return {pairs};
}

/// Windows of an image as columns: (batch, channels * window, positions).
Values columns_of_image(Operation& in) {
  Expr x = in[0];
  const bool has_batch = in.rank(x) == 4;
  if (!has_batch) x = expand_dims(x, 0);
  Ints kernel = per_dimension(in, "kernel_size", 2, 1), strides = per_dimension(in, "stride", 2, 1);
  Ints dilations = per_dimension(in, "dilation", 2, 1), pads = per_dimension(in, "padding", 2, 0);
  x = pad_with(x, {0, 0, pads[0], pads[1]}, {0, 0, pads[0], pads[1]}, 0);
  Ints shape = in.static_shape(x, "im2col"), counts{0, 0};
  for (size_t i = 0; i < 2; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || kernel[i] < 1) in.invalid("a kernel, stride or dilation is 0");
    counts[i] = (shape[i + 2] - (kernel[i] - 1) * dilations[i] - 1) / strides[i] + 1;
    if (counts[i] < 1) in.invalid("a window that is larger than the data");
    std::vector<int64_t> indices;
    for (int64_t k = 0; k < kernel[i]; ++k)
      for (int64_t at = 0; at < counts[i]; ++at) indices.push_back(k * dilations[i] + at * strides[i]);
    x = take(x, make_ints(indices), static_cast<int>(i) + 2);
  }
  Expr out = reshape_to(x, {shape[0], shape[1], kernel[0], counts[0], kernel[1], counts[1]});
  out = reshape_to(transpose(out, int_array({0, 1, 2, 4, 3, 5})),
                   {shape[0], shape[1] * kernel[0] * kernel[1], counts[0] * counts[1]});
  return {has_batch ? out : squeeze(out, int_array({0}))};
}
Values image_of_columns(Operation& in) {
  Expr x = in[0];
  const bool has_batch = in.rank(x) == 3;
  if (!has_batch) x = expand_dims(x, 0);
  std::vector<int64_t> pads = per_dimension(in, "padding", 2, 0);
  pads.insert(pads.end(), {pads[0], pads[1]});
  Expr out = onnx::apply(
      in, "Col2Im",
      {x, make_ints(per_dimension(in, "output_size", 2, 1)), make_ints(per_dimension(in, "kernel_size", 2, 1))},
      {{"strides", std::vector<int64_t>(per_dimension(in, "stride", 2, 1))},
       {"dilations", std::vector<int64_t>(per_dimension(in, "dilation", 2, 1))},
       {"pads", pads}});
  return {has_batch ? out : squeeze(out, int_array({0}))};
}

Converter window_of(double a, double b) {
  return [a, b](Operation& in) {
    const int64_t count = in.integer("window_length", in.size() ? in.int_of(in.value(0), "window_length") : 0);
    const bool periodic = !in.has("periodic") || in.flag("periodic", true);
    if (count < 0 || count > (1 << 24)) in.invalid("a window of " + std::to_string(count) + " elements");
    std::vector<double> out;
    const double steps = static_cast<double>(periodic ? count : count - 1);
    for (int64_t i = 0; i < count; ++i) out.push_back(count == 1 ? 1 : a - b * std::cos(2 * M_PI * double(i) / steps));
    return Values{numbers_of(out, {count}, in.dtype_given().value_or(in.default_dtype()))};
  };
}

}  // namespace

Rows signal_rows() {
  return {
      {"aten::col2im", image_of_columns},         {"aten::hamming_window", window_of(0.54, 0.46)},
      {"aten::hann_window", window_of(0.5, 0.5)}, {"aten::im2col", columns_of_image},
      {"aten::stft", short_time_fourier_of},
  };
}

}  // namespace tessera::torch
