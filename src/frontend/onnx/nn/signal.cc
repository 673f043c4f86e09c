// Signals: windows, Fourier transforms, filters.

#include <cmath>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/nn/pad_dynamic.h"
#include "relay/attrs/signal.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// A matrix of numbers by row and column.
template <class F>
Expr matrix(int64_t rows, int64_t columns, DataType dtype, F&& value) {
  int64_t shape[] = {rows, columns};
  NDArray out = NDArray::empty(shape, dtype);
  char* at = out.data<char>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j, at += dtype.bytes()) write_float(dtype, value(i, j), at);
  return make_constant(out);
}

/// a - b cos(2 pi i / n) + c cos(4 pi i / n)
Converter window(double a, double b, double c) {
  return [=](Operation& in) {
    Ints size = in.needed_ints(in[0], "size");
    if (size.size() != 1 || size[0] < 0 || size[0] > (1 << 24))
      in.invalid("the size is one number that is not negative");
    DataType dtype = element_type(static_cast<ElementType>(in.integer("output_datatype", 1)));
    auto n = static_cast<double>(size[0] - (in.integer("periodic", 1) != 0 ? 0 : 1));
    Expr out = matrix(1, size[0], dtype, [&](int64_t, int64_t i) {
      double angle = 2 * M_PI * static_cast<double>(i) / n;
      return a - b * std::cos(angle) + c * std::cos(2 * angle);
    });
    return Values{make_constant(out.as<Constant>()->data.view(std::span(size), dtype))};
  };
}

// ---- Fourier transforms ---------------------------------------------------------------------------------------------

/// A signal (..., length, 1 or 2) whose axis before the last is transformed. Real ones are computed in float64, so that sums
/// that should vanish do; complex ones in their own precision.
Expr transformed(Operation& in, Expr x, bool is_inverse) {
  auto last = static_cast<int>(in.rank(x)) - 1;
  auto* parts = in.shape(x)[static_cast<size_t>(last)].as<IntImm>();
  if (!parts || (parts->value != 1 && parts->value != 2)) in.invalid("the last dimension holds one or two parts");
  DataType dtype = in.dtype(x);
  x = cast_if_needed(in, x, parts->value == 1 || dtype.bits == 64 ? DataType::Float(64) : DataType::Float(32));
  if (parts->value == 1) x = concatenate({x, zeros_like(x)}, last);
  return call_op("fft", {x}, make_attrs<FftAttrs>([&](auto& attrs) { attrs.inverse = is_inverse; }));
}

/// Cropped, or filled up with zeros, to `length` along one axis.
Expr with_length(Operation& in, const Expr& x, int axis, int64_t own, int64_t length) {
  if (own > length) return slice(x, axis, 0, length);
  std::vector<int64_t> none(in.rank(x), 0), after = none;
  after[static_cast<size_t>(axis)] = length - own;
  return pad_with(x, none, after, 0);
}

/// All frequencies of a real signal of `n` elements from the first half of them: the others are their conjugates.
Expr all_frequencies(const Expr& x, int axis, int64_t n, DataType dtype) {
  std::vector<int64_t> indices;
  std::vector<double> signs;
  for (int64_t k = 0; k < n; ++k) {
    indices.push_back(k <= n / 2 ? k : n - k);
    signs.push_back(1);
    signs.push_back(k <= n / 2 ? 1 : -1);
  }
  return multiply(take(x, make_ints(indices), axis), numbers_of(signs, {n, 2}, dtype));
}

Expr signal_number(int64_t value) { return make_constant(int_scalar(value, DataType::Int(64))); }
Expr half_and_one(const Expr& n) { return add(call_op("floor_divide", {n, signal_number(2)}), signal_number(1)); }

/// Cropped, or filled up with zeros, to a length that a run decides.
Expr with_length_at_run_time(Operation& in, const Expr& x, int axis, const Expr& length) {
  Expr more = reshape(subtract(length, extent_at_run_time(in, x, axis)), int_array({1}));
  return padded_at_run_time(in, x, concatenate({make_ints({0}), more}, 0), {axis}, make_scalar(0, in.dtype(x)),
                            "constant");
}

/// The same as `all_frequencies` for a number of elements that a run decides.
Expr all_frequencies_at_run_time(const Expr& x, int axis, const Expr& n, DataType dtype) {
  Expr k = call_op("dyn.iota", {n}), is_first = less(k, half_and_one(n));
  Expr index = where(is_first, k, subtract(n, k)),
       sign = where(is_first, make_scalar(1, dtype), make_scalar(-1, dtype));
  return multiply(take(x, index, axis), stack({call_op("ones_like", {sign}), sign}, 1));
}

/// A transform whose length a run decides: that of the signal, or input 1.
Expr transformed_at_run_time(Operation& in, Expr x, int axis, bool is_inverse, bool is_half) {
  Expr n = extent_at_run_time(in, x, axis);
  const int last = static_cast<int>(in.rank(x)) - 1;
  const bool is_real_result = is_inverse && is_half;
  if (is_real_result) n = multiply(subtract(n, signal_number(1)), signal_number(2));
  if (in.has(1)) n = reshape(cast_if_needed(in, in[1], DataType::Int(64)), Array<PrimExpr>{});
  if (in.has(1)) x = with_length_at_run_time(in, x, axis, is_real_result ? half_and_one(n) : n);
  DataType dtype = in.dtype(in[0]);
  if (is_real_result) {
    auto* parts = in.shape(x)[static_cast<size_t>(last)].as<IntImm>();
    if (parts && parts->value == 1) x = concatenate({x, zeros_like(x)}, last);
    x = cast_if_needed(in, x, DataType::Float(64));
    x = transformed(in, all_frequencies_at_run_time(x, axis, n, DataType::Float(64)), true);
    return cast_if_needed(in, slice(x, last, 0, 1), dtype);
  }
  x = cast_if_needed(in, transformed(in, x, is_inverse), dtype);
  return is_half ? with_length_at_run_time(in, x, axis, half_and_one(n)) : x;
}

Values fourier(Operation& in, int64_t axis_given) {
  Expr x = in[0];
  size_t rank = in.rank(x);
  bool is_inverse = in.integer("inverse", 0) != 0, is_half = in.integer("onesided", 0) != 0;
  if (rank < 2) in.invalid("the signal has a dimension of parts behind that of its elements");
  int axis = in.axis(axis_given, rank), last = static_cast<int>(rank) - 1, to = last - 1;
  if (axis == last) in.invalid("the axis is that of the parts");
  auto* extent = in.shape(x)[static_cast<size_t>(axis)].as<IntImm>();
  std::optional<std::vector<int64_t>> asked;
  if (in.has(1)) asked = in.constant_ints(in[1]);
  std::vector<int64_t> order, back(rank);
  for (int i = 0; i < last; ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  order.push_back(last);
  for (size_t i = 0; i < rank; ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  x = transpose(x, int_array(order));
  if (!extent || (in.has(1) && !asked))
    return {transpose(transformed_at_run_time(in, x, to, is_inverse, is_half), int_array(back))};
  bool is_real_result = is_inverse && is_half;
  int64_t n = asked ? asked->at(0) : is_real_result ? 2 * (extent->value - 1) : extent->value;
  if (n <= 0 || n > (int64_t{1} << 31)) in.invalid("a transform of " + std::to_string(n) + " elements");
  x = with_length(in, x, to, extent->value, is_real_result ? n / 2 + 1 : n);
  if (is_real_result) {
    DataType dtype = in.dtype(x);
    auto* parts = in.shape(x)[static_cast<size_t>(last)].as<IntImm>();
    if (parts && parts->value == 1) x = concatenate({x, zeros_like(x)}, last);
    x = cast_if_needed(in, x, DataType::Float(64));
    x = slice(transformed(in, all_frequencies(x, to, n, DataType::Float(64)), true), last, 0, 1);
    return {transpose(cast_if_needed(in, x, dtype), int_array(back))};
  }
  x = cast_if_needed(in, transformed(in, x, is_inverse), in.dtype(in[0]));
  if (is_half) x = slice(x, to, 0, n / 2 + 1);
  return {transpose(x, int_array(back))};
}

Values fourier_17(Operation& in) { return fourier(in, in.integer("axis", 1)); }
Values fourier_20(Operation& in) { return fourier(in, in.has(2) ? in.needed_ints(in[2], "axis").at(0) : -2); }

/// Inputs: a signal (batch, length, parts), the step, a window and the length of frames, of which each has its own default.
Values short_time_fourier(Operation& in) {
  Expr x = in[0];
  auto* extent = in.shape(x)[1].as<IntImm>();
  if (!extent && !in.has(2) && !in.has(3)) in.unknown("the length of the signal must be known", x);
  int64_t step = in.needed_ints(in[1], "frame_step").at(0), length = extent ? extent->value : 0;
  if (in.has(2)) length = in.static_shape(in[2], "a window").at(0);
  if (in.has(3)) length = in.needed_ints(in[3], "frame_length").at(0);
  if (step < 1 || length < 1 || (extent && length > extent->value)) in.invalid("the frames do not fit the signal");
  auto* parts = in.shape(x)[2].as<IntImm>();
  if (!parts) in.invalid("the last dimension holds one or two parts");
  bool is_half = in.integer("onesided", 1) != 0;
  if (is_half && parts->value == 2) in.unsupported("half the frequencies of a complex signal");
  if (extent) {
    int64_t frames = (extent->value - length) / step + 1;
    std::vector<int64_t> indices;
    for (int64_t frame = 0; frame < frames; ++frame)
      for (int64_t i = 0; i < length; ++i) indices.push_back(frame * step + i);
    x = reshape_to(take(x, make_ints(indices), 1), {-1, frames, length, parts->value});
  } else {
    std::vector<int64_t> inside(static_cast<size_t>(length));
    for (size_t i = 0; i < inside.size(); ++i) inside[i] = static_cast<int64_t>(i);
    Expr room = subtract(extent_at_run_time(in, x, 1), signal_number(length));
    Expr frames = add(call_op("floor_divide", {room, signal_number(step)}), signal_number(1));
    Expr begins = multiply(call_op("dyn.iota", {frames}), signal_number(step));
    x = take(x, add(expand_dims(begins, 1), make_ints(inside)), 1);
  }
  if (in.has(2)) x = multiply(x, expand_dims(in[2], 1));
  x = cast_if_needed(in, transformed(in, x, false), in.dtype(in[0]));
  return {is_half ? slice(x, 2, 0, length / 2 + 1) : x};
}

/// Triangles over frequencies that are evenly spaced on the mel scale.
Values mel_weight_matrix(Operation& in) {
  auto whole = [&](size_t i, const char* what) { return in.needed_ints(in[i], what).at(0); };
  auto hertz = [&](size_t i, const char* what) {
    std::optional<double> value = in.constant_number(in[i]);
    if (!value) in.unknown(std::string(what) + " must be known", in[i]);
    return *value;
  };
  int64_t bands = whole(0, "num_mel_bins"), length = whole(1, "dft_length"), rate = whole(2, "sample_rate");
  if (bands < 1 || length < 1 || rate < 1 || bands > (1 << 16) || length > (1 << 24))
    in.invalid("numbers of bands, elements and samples are positive");
  auto mel = [](double frequency) { return 2595 * std::log1p(frequency / 700) / std::log(10.0); };
  double low = mel(hertz(3, "lower_edge_hertz")), high = mel(hertz(4, "upper_edge_hertz"));
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    double frequency = 700 * std::expm1(at / 2595 * std::log(10.0));
    edges.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * frequency / static_cast<double>(rate))));
  }
  DataType dtype = element_type(static_cast<ElementType>(in.integer("output_datatype", 1)));
  return {matrix(length / 2 + 1, bands, dtype, [&](int64_t row, int64_t band) {
    auto at = static_cast<size_t>(band);
    int64_t left = edges[at], peak = edges[at + 1], right = edges[at + 2];
    if (row >= peak && row < right) return static_cast<double>(right - row) / static_cast<double>(right - peak);
    if (left == peak) return row == peak ? 1.0 : 0.0;
    if (row < left || row > peak) return 0.0;
    return static_cast<double>(row - left) / static_cast<double>(peak - left);
  })};
}

}  // namespace

Rows signal_rows() {
  return {
      {"BlackmanWindow", 17, window(0.42, 0.5, 0.08)},
      {"DFT", 17, fourier_17},
      {"DFT", 20, fourier_20},
      {"HammingWindow", 17, window(25.0 / 46, 21.0 / 46, 0)},
      {"HannWindow", 17, window(0.5, 0.5, 0)},
      {"MelWeightMatrix", 17, mel_weight_matrix},
      {"STFT", 17, short_time_fourier},
  };
}

}  // namespace tessera::onnx
