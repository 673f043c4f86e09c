// Integers that stand for real numbers: value = scale * (integer - zero point). Contractions of integers are sums of
// int32, and what is rounded goes to the even number when halfway.

#include "frontend/onnx/nn/quantized.h"
#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/minifloat.h"
#include "frontend/onnx/nn/windows.h"
#include "relay/attrs/qnn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

#include <cmath>

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

namespace {}  // namespace

Range range_of(Operation& in, DataType dtype, int bits) {
  if (dtype.code != DataType::kInt && dtype.code != DataType::kUInt) in.unsupported("quantisation to floats");
  if (bits == 0) bits = dtype.bits;
  if (dtype.code == DataType::kUInt) return {dtype, 0, std::ldexp(1.0, bits) - 1};
  return {dtype, -std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
}

Expr quantized(Operation& in, const Expr& scaled, const Expr& zero, const Range& range) {
  Expr out = round_to_even(scaled);
  DataType work = in.dtype(out).bits < 32 ? kFloat32 : in.dtype(out);
  out = cast_if_needed(in, out, work);
  if (zero.defined()) out = add(out, cast_if_needed(in, zero, work));
  return cast(clip(out, range.low, range.high), range.dtype);
}

std::vector<Expr> quantized_by_range(Operation& in, const Expr& x) {
  auto number = [](double value) { return make_scalar(value, kFloat32); };
  Expr high = maximum(reduce("max", x, nullptr), number(0)), low = minimum(reduce("min", x, nullptr), number(0));
  Expr width = subtract(high, low);
  Expr scale = divide(where(equal(width, number(0)), number(1), width), number(255));
  Expr zero = round_to_even(clip(subtract(number(0), divide(low, scale)), 0, 255));
  Range range = range_of(in, DataType::UInt(8), 0);
  return {quantized(in, divide(x, scale), zero, range), scale, cast(zero, DataType::UInt(8))};
}

namespace {

/// A scale or zero point as it meets the data: one number, one for each index along `axis`, or one for each block.
Expr spread(Operation& in, const Expr& part, const Expr& data, int64_t given_axis, int64_t block) {
  size_t rank = in.rank(part), whole = in.rank(data);
  if (rank == 0) return part;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(part);
  if (rank == 1 && block == 0) {
    if (shape && (*shape)[0] == 1) return reshape(part, Array<PrimExpr>());
    int axis = in.axis(given_axis, whole);
    return expand_dims(part, 1, static_cast<int>(whole) - axis - 1);
  }
  if (block <= 0 || rank != whole) in.invalid("a scale that fits neither an axis nor blocks");
  int axis = in.axis(given_axis, whole);
  int64_t extent = in.static_shape(data, "quantisation by blocks")[static_cast<size_t>(axis)];
  Expr out = repeat(part, static_cast<int>(block), axis);
  int64_t made = in.static_shape(out, "quantisation by blocks")[static_cast<size_t>(axis)];
  if (made < extent) in.invalid("the blocks do not cover the data");
  return made == extent ? out : slice(out, axis, 0, extent);
}

// ---- as operators of qnn: one scale and zero point, or one for each index along an axis -----------------------------

/// A scale or zero point as these take it; empty where it is neither a number nor a vector.
Expr number_or_vector(Operation& in, const Expr& part, DataType dtype) {
  if (in.rank(part) > 1) return nullptr;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(part);
  const bool is_one = shape && in.rank(part) == 1 && (*shape)[0] == 1;
  if (auto* constant = part.as<Constant>(); constant && shape) {  // passes look at its numbers
    const NDArray& from = constant->data;
    const DataType given = in.dtype(part);
    NDArray to = NDArray::empty(is_one ? std::vector<int64_t>{} : *shape, dtype);
    for (int64_t i = 0; i < product_of(*shape); ++i) {
      double value = read_float(given, from.data<char>() + i * given.bytes());
      write_float(dtype, value, to.data<char>() + i * dtype.bytes());
    }
    return make_constant(to);
  }
  return cast_if_needed(in, is_one ? reshape(part, Array<PrimExpr>()) : part, dtype);
}

/// (x, scale, zero point) for an operator of qnn; empty where the node means something that those do not.
Array<Expr> affine_args(Operation& in, const Expr& x, DataType scale_type) {
  const Value &scale = in.value(1), *zero = in.has(2) ? &in.value(2) : nullptr;
  if (in.integer("block_size", 0) != 0 || scale_type != kFloat32 || scale.element != ElementType::Undefined) return {};
  Expr scales = number_or_vector(in, scale.tensor, kFloat32);
  Expr zeros = zero ? number_or_vector(in, zero->tensor, kInt32) : make_scalar(0, kInt32);
  if (!scales || !zeros) return {};
  return {x, scales, zeros};
}

int qnn_axis(Operation& in, const Expr& scale, const Expr& x) {
  return in.rank(scale) == 0 ? -1 : in.axis(in.integer("axis", 1), in.rank(x));
}

Expr qnn_quantize(Operation& in, const Expr& x, DataType dtype) {
  if (in.dtype(x) != kFloat32 || in.integer("precision", 0) != 0) return nullptr;
  if (dtype.bits > 16 || (dtype.code != DataType::kInt && dtype.code != DataType::kUInt)) return nullptr;
  Array<Expr> args = affine_args(in, x, in.dtype(as_numbers(in.value(1))));
  if (args.empty()) return nullptr;
  return call_op("qnn.quantize", args, make_attrs<QuantizeAttrs>([&](auto& attrs) {
                   attrs.out_dtype = dtype;
                   attrs.axis = qnn_axis(in, args[1], x);
                   attrs.rounding = "TOEVEN";
                 }));
}

Expr qnn_dequantize(Operation& in, const Expr& x) {
  const DataType dtype = in.dtype(x);
  if (dtype.bits > 32 || (dtype.code != DataType::kInt && dtype.code != DataType::kUInt)) return nullptr;
  if (dtype == DataType::UInt(32) || in.integer("output_dtype", 0) != 0) return nullptr;
  Array<Expr> args = affine_args(in, x, in.dtype(as_numbers(in.value(1))));
  if (args.empty()) return nullptr;
  const int axis = qnn_axis(in, args[1], x);
  return call_op("qnn.dequantize", args, make_attrs<DequantizeAttrs>([&](auto& attrs) { attrs.axis = axis; }));
}

/// What a quantised result is made of: its zero point, else what the node says, else uint8.
ElementType quantized_type(Operation& in) {
  if (!in.has(2)) return static_cast<ElementType>(in.integer("output_dtype", static_cast<int>(ElementType::UInt8)));
  const Value& zero = in.value(2);
  return zero.element == ElementType::Undefined ? number_of(in.dtype(zero.tensor)) : zero.element;
}

Values quantize_linear(Operation& in) {
  Expr x = as_numbers(in.value(0));
  int64_t axis = in.integer("axis", 1), block = in.integer("block_size", 0), precision = in.integer("precision", 0);
  auto to = quantized_type(in);
  if (to == ElementType::Undefined) to = ElementType::UInt8;
  if (!is_minifloat(to) && !small_bits(to))
    if (Expr out = qnn_quantize(in, x, element_type(to))) return {out};
  Expr given_scale = as_numbers(in.value(1)), zero;
  DataType work = precision ? element_type(static_cast<ElementType>(precision)) : in.dtype(x);
  if (!is_float(work)) work = kFloat64;
  if (!is_float(in.dtype(given_scale))) in.unsupported("a scale of this element type");
  if (!precision && in.dtype(given_scale).bits > work.bits) work = in.dtype(given_scale);
  Expr scale = cast_if_needed(in, spread(in, given_scale, x, axis, block), work);
  if (in.has(2)) zero = spread(in, as_numbers(in.value(2)), x, axis, block);
  Expr scaled = divide(cast_if_needed(in, x, work), scale);
  if (is_minifloat(to)) {
    bool is_moved = small_bits(to) && zero.defined();  // floats of a byte have no zero point but 0
    if (is_moved) scaled = add(cast_if_needed(in, scaled, kFloat32), zero);
    return {as_minifloat(in, scaled, to, in.integer("saturate", 1) != 0, "nearest")};
  }
  Value out(quantized(in, scaled, zero, range_of(in, element_type(to), small_bits(to))));
  if (small_bits(to)) out.element = to;
  return {out};
}

Values dequantize_linear(Operation& in) {
  Expr x = as_numbers(in.value(0)), scale = as_numbers(in.value(1));
  if (in.value(0).element == ElementType::Undefined)
    if (Expr out = qnn_dequantize(in, x)) return {out};
  int64_t axis = in.integer("axis", 1), block = in.integer("block_size", 0);
  auto wanted = static_cast<ElementType>(in.integer("output_dtype", 0));
  DataType scale_type = in.dtype(scale);
  if (!is_float(scale_type)) in.unsupported("a scale of this element type");
  DataType work = scale_type == kFloat64 ? kFloat64 : kFloat32;
  Expr out = cast_if_needed(in, x, work);
  if (in.has(2)) out = subtract(out, cast_if_needed(in, spread(in, as_numbers(in.value(2)), x, axis, block), work));
  out = multiply(out, cast_if_needed(in, spread(in, scale, x, axis, block), work));
  if (wanted == ElementType::Undefined && is_minifloat(in.value(1).element)) wanted = in.value(1).element;
  if (is_minifloat(wanted)) return {as_minifloat(in, out, wanted, true, "up")};
  return {cast_if_needed(in, out, wanted == ElementType::Undefined ? scale_type : element_type(wanted))};
}

/// The scale and zero point of a tensor are outputs.
Values dynamic_quantize_linear(Operation& in) {
  std::vector<Expr> parts = quantized_by_range(in, in[0]);
  return {parts[0], parts[1], parts[2]};
}

// ---- contractions of integers ---------------------------------------------------------------------------------------

Values matmul_integer(Operation& in) { return {integer_matmul(in, integers(in, 0, 2), integers(in, 1, 3))}; }

Values conv_integer(Operation& in) { return {integer_convolution(in, integers(in, 0, 2), integers(in, 1, 3))}; }

/// Scales of both operands over that of the result; one that is a vector is spread over `trailing` dimensions behind it.
Expr factor(Operation& in, size_t a, size_t b, size_t out, int a_trailing, int b_trailing) {
  auto scale = [&](size_t i, int trailing) {
    Expr x = cast_if_needed(in, in[i], kFloat32);
    if (in.rank(x) != 1) return x;
    std::optional<std::vector<int64_t>> shape = in.fixed_shape(x);
    if (shape && (*shape)[0] == 1) return reshape(x, Array<PrimExpr>());
    return trailing ? expand_dims(x, 1, trailing) : x;
  };
  return cast(divide(multiply(scale(a, a_trailing), scale(b, b_trailing)), scale(out, a_trailing)), kFloat64);
}

/// The zero point of the result is added before rounding.
Expr requantized(Operation& in, const Expr& sums, const Expr& scale, size_t zero, DataType otherwise) {
  Expr out = multiply(cast(sums, kFloat64), scale);
  Range range = range_of(in, in.has(zero) ? in.dtype(in[zero]) : otherwise, 0);
  if (in.has(zero)) {
    Expr point = in[zero];
    if (in.rank(point) == 1) point = reshape(point, Array<PrimExpr>());
    out = add(out, cast(point, kFloat64));
  }
  return quantized(in, out, Expr(), range);
}

/// Inputs: a, its scale and zero point, b, its, those of the result.
Values qlinear_matmul(Operation& in) {
  Expr sums = integer_matmul(in, integers(in, 0, 2), integers(in, 3, 5));
  return {requantized(in, sums, factor(in, 1, 4, 6, 1, 0), 7, in.dtype(in[0]))};
}

/// The same for data and weight, and a bias of int32.
Values qlinear_conv(Operation& in) {
  int spatial = static_cast<int>(in.rank(in[0])) - 2;
  Expr sums = integer_convolution(in, integers(in, 0, 2), integers(in, 3, 5));
  if (in.has(8)) sums = add(sums, expand_dims(in[8], 1, spatial));
  return {requantized(in, sums, factor(in, 1, 4, 6, 0, spatial), 7, in.dtype(in[0]))};
}

}  // namespace

Rows quantized_rows() {
  return {
      {"ConvInteger", 10, conv_integer},
      {"DequantizeLinear", 10, dequantize_linear},
      {"DequantizeLinear", 1, dequantize_linear, kMicrosoftDomain},
      {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
      {"MatMulInteger", 10, matmul_integer},
      {"QLinearConv", 10, qlinear_conv},
      {"QLinearMatMul", 10, qlinear_matmul},
      {"QuantizeLinear", 10, quantize_linear},
      {"QuantizeLinear", 1, quantize_linear, kMicrosoftDomain},
  };
}

}  // namespace tessera::onnx
