#include "frontend/tflite/quantize.h"

#include <algorithm>
#include <cmath>

#include "frontend/common/parts.h"
#include "relay/attrs/qnn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tflite {

using namespace relay;  // NOLINT: makers of calls

namespace {

enum Activation { None = 0, Relu = 1, ReluN1To1 = 2, Relu6 = 3, Tanh = 4 };

int axis_of(const Quantization& q) { return q.scale.size() > 1 ? q.axis : -1; }

/// The least and greatest integer of a type.
std::pair<double, double> range_of(DataType dtype) {
  const double all = std::ldexp(1.0, dtype.bits);
  return dtype.is_uint() ? std::pair(0.0, all - 1) : std::pair(-all / 2, all / 2 - 1);
}

}  // namespace

Expr scale_of(const Quantization& q) {
  if (q.scale.size() == 1) return make_scalar(q.scale[0], DataType::Float(32));
  return numbers_of({q.scale.begin(), q.scale.end()}, {static_cast<int64_t>(q.scale.size())}, DataType::Float(32));
}

Expr zero_of(const Quantization& q) {
  const bool is_one = std::all_of(q.zero.begin(), q.zero.end(), [&](int64_t zero) { return zero == q.zero[0]; });
  if (is_one) return make_scalar(static_cast<double>(q.zero[0]), DataType::Int(32));
  return numbers_of({q.zero.begin(), q.zero.end()}, {static_cast<int64_t>(q.zero.size())}, DataType::Int(32));
}

bool same_quantization(const Quantization& a, const Quantization& b) { return a.scale == b.scale && a.zero == b.zero; }

Expr dequantized(const NodeContext& in, const Expr& x, const Quantization& q) {
  if (!q.is_given() || is_float(in.dtype(x))) return x;
  return call_op("qnn.dequantize", {x, scale_of(q), zero_of(q)},
                 make_attrs<DequantizeAttrs>([&](auto& attrs) { attrs.axis = axis_of(q); }));
}

Expr floats(const Node& in, size_t i) {
  Expr x = dequantized(in, in[i], in.quantized_input(i));
  return is_float(in.dtype(x)) ? x : cast(x, DataType::Float(32));
}

Expr quantized(const NodeContext& in, const Expr& x, const Quantization& q, DataType dtype) {
  if (!q.is_given() || !is_float(in.dtype(x))) return cast_if_needed(in, x, dtype);
  return call_op("qnn.quantize", {cast_if_needed(in, x, DataType::Float(32)), scale_of(q), zero_of(q)},
                 make_attrs<QuantizeAttrs>([&](auto& attrs) {
                   attrs.out_dtype = dtype;
                   attrs.axis = axis_of(q);
                 }));
}

Expr requantized(const NodeContext& in, const Expr& x, const Quantization& from, const Quantization& to,
                 DataType dtype) {
  if (!from.is_given() || !to.is_given() || (same_quantization(from, to) && in.dtype(x) == dtype)) return x;
  return call_op("qnn.requantize", {x, scale_of(from), zero_of(from), scale_of(to), zero_of(to)},
                 make_attrs<RequantizeAttrs>([&](auto& attrs) {
                   attrs.axis = axis_of(from);
                   attrs.rounding = "TONEAREST";
                   attrs.out_dtype = dtype;
                 }));
}

Expr activated(const NodeContext& in, const Expr& x, int64_t activation) {
  switch (activation) {
    case None: return x;
    case Relu: return is_float(in.dtype(x)) ? call_op("nn.relu", {x}) : maximum(x, make_scalar(0, in.dtype(x)));
    case ReluN1To1: return clip(x, -1, 1);
    case Relu6: return clip(x, 0, 6);
    case Tanh: return tanh(x);
    default: in.unsupported("the fused activation " + std::to_string(activation));
  }
}

Expr activated_integers(const NodeContext& in, const Expr& x, int64_t activation, const Quantization& q,
                        DataType dtype) {
  if (activation == None) return x;
  if (activation == Tanh) in.unsupported("a fused tanh of integers");
  if (activation < None || activation > Tanh) in.unsupported("the fused activation " + std::to_string(activation));
  if (q.scale.size() != 1) in.invalid("a result with a scale for each channel");
  auto [low, high] = range_of(dtype);
  auto integer = [&](double value) {
    return static_cast<double>(q.zero[0]) + std::round(value / static_cast<double>(q.scale[0]));
  };
  const double first = std::max(low, integer(activation == ReluN1To1 ? -1 : 0));
  const double last = activation == Relu ? high : std::min(high, integer(activation == Relu6 ? 6 : 1));
  if (first <= low && last >= high) return x;
  return clip(x, first, last);
}

}  // namespace tessera::tflite
