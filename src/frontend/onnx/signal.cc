// Signals: windows and Fourier transforms of fixed length.

#include <cmath>

#include "frontend/onnx/importer.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/element.h"

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
    std::vector<int64_t> size = in.needed_ints(in[0], "size");
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

Expr product(const Expr& a, const Expr& b) {
  return call_op("nn.matmul", {a, b}, make_attrs<MatmulAttrs>([](auto&) {}));
}

/// The parts of a signal (..., length, 1 or 2) times matrices of cosines and sines.
Values fourier(Operation& in, int64_t axis_given) {
  std::vector<int64_t> shape = in.static_shape(in[0], "DFT");
  size_t rank = shape.size();
  bool is_inverse = in.integer("inverse", 0) != 0, is_half = in.integer("onesided", 0) != 0;
  if (rank < 2 || (shape.back() != 1 && shape.back() != 2)) in.invalid("the last dimension holds one or two parts");
  if (is_inverse && is_half) in.unsupported("an inverse of half the frequencies");
  auto axis = static_cast<size_t>(in.axis(axis_given, rank));
  if (axis + 1 == rank) in.invalid("the axis is that of the parts");
  int64_t length = shape[axis];
  int64_t n = in.has(1) ? in.needed_ints(in[1], "dft_length").at(0) : length;
  if (n <= 0 || n > 4096) in.unsupported("a transform of " + std::to_string(n) + " elements");
  int64_t columns = is_half ? n / 2 + 1 : n;
  DataType dtype = DataType::Float(64);  // sums that should vanish do

  // The axis last, everything before it in rows.
  std::vector<int64_t> order, back(rank - 1), kept;
  for (size_t i = 0; i + 1 < rank; ++i)
    if (i != axis) order.push_back(static_cast<int64_t>(i)), kept.push_back(shape[i]);
  order.push_back(static_cast<int64_t>(axis));
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Expr parts = split(cast(in[0], dtype), static_cast<int>(shape.back()), static_cast<int>(rank) - 1);
  auto rows = [&](int which) {
    Expr part = squeeze(make_get_item(parts, which), int_array({static_cast<int64_t>(rank) - 1}));
    return reshape(transpose(part, int_array(order)), int_array({-1, length}));
  };
  // Rows beyond the length are cut off or were zero: the matrices have only those that count.
  auto wave = [&](bool is_sine) {
    return matrix(length, columns, dtype, [&](int64_t i, int64_t k) {
      if (i >= n) return 0.0;
      double angle = 2 * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n);
      double value = is_sine ? (is_inverse ? -std::sin(angle) : std::sin(angle)) : std::cos(angle);
      return is_inverse ? value / static_cast<double>(n) : value;
    });
  };
  Expr cosine = wave(false), sine = wave(true), real = product(rows(0), cosine),
       imaginary = negative(product(rows(0), sine));
  if (shape.back() == 2) {
    real = add(real, product(rows(1), sine));
    imaginary = add(imaginary, product(rows(1), cosine));
  }
  std::vector<int64_t> wide = kept;
  wide.push_back(columns);
  auto restored = [&](const Expr& x) { return transpose(reshape(x, int_array(wide)), int_array(back)); };
  return {cast(stack({restored(real), restored(imaginary)}, static_cast<int>(rank) - 1), in.dtype(in[0]))};
}

Values fourier_17(Operation& in) { return fourier(in, in.integer("axis", 1)); }
Values fourier_20(Operation& in) { return fourier(in, in.has(2) ? in.needed_ints(in[2], "axis").at(0) : -2); }

}  // namespace

Rows signal_rows() {
  return {
      {"BlackmanWindow", 17, window(0.42, 0.5, 0.08)},
      {"DFT", 17, fourier_17},
      {"DFT", 20, fourier_20},
      {"HammingWindow", 17, window(25.0 / 46, 21.0 / 46, 0)},
      {"HannWindow", 17, window(0.5, 0.5, 0)},
  };
}

}  // namespace tessera::onnx
