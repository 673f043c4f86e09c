// Fused operators of com.microsoft on quantised integers.

#include "base/dtypes.h"
#include "frontend/common/heads.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/fused_attention.h"
#include "frontend/onnx/nn/quantized.h"
#include "frontend/onnx/nn/windows.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// One number, also where the file has it as a vector of one element.
Expr one_number(Operation& in, const Expr& x) {
  if (in.rank(x) == 0) return x;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(x);
  if (!shape || shape->size() != 1 || (*shape)[0] != 1) in.unsupported("a scale or zero point of more than one number");
  return reshape(x, Array<PrimExpr>());
}

/// Input i as real numbers; its scale and zero point (which may be left out) follow it.
Expr real(Operation& in, size_t i) {
  Expr x = cast(in[i], kInt32);
  if (in.has(i + 2)) x = subtract(x, cast(one_number(in, in[i + 2]), kInt32));
  return multiply(cast(x, kFloat32), one_number(in, in[i + 1]));
}

/// Real numbers as integers by the scale and zero point of two inputs.
Expr result(Operation& in, const Expr& x, size_t scale, size_t zero, DataType otherwise) {
  DataType dtype = in.has(zero) ? in.dtype(in[zero]) : otherwise;
  Expr point = in.has(zero) ? one_number(in, in[zero]) : Expr();
  return quantized(in, divide(x, one_number(in, in[scale])), point, range_of(in, dtype, 0));
}

Converter binary(const char* op) {
  return [op](Operation& in) {
    return Values{result(in, call_op(op, {real(in, 0), real(in, 3)}), 6, 7, in.dtype(in[0]))};
  };
}

template <class F>
Converter unary(F compute) {
  return [compute](Operation& in) { return Values{result(in, compute(in, real(in, 0)), 3, 4, in.dtype(in[0]))}; };
}

Expr leaky_relu(Operation& in, const Expr& x) {
  double alpha = in.number("alpha", 0.01);
  return call_op("nn.leaky_relu", {x}, make_attrs<LeakyReluAttrs>([&](auto& attrs) { attrs.alpha = alpha; }));
}

Expr quantized_softmax(Operation& in, const Expr& x) {
  int axis = in.axis(in.integer("axis", -1), in.rank(x));
  if (in.integer("opset", 13) < 13 && axis + 1 != static_cast<int>(in.rank(x)))
    in.unsupported("a softmax over several dimensions");
  return softmax_of(x, axis);
}

Expr global_average(Operation& in, const Expr& x) {
  Array<PrimExpr> axes;
  bool is_last = in.integer("channels_last", 0) != 0;
  for (size_t i = 2; i < in.rank(x); ++i) axes.push_back(PrimExpr(static_cast<int>(is_last ? i - 1 : i)));
  return mean(x, axes, true);
}

/// Inputs: the scale and zero point of the result, then (data, scale, zero point) of each part.
Values concat(Operation& in) {
  Array<Expr> parts;
  for (size_t i = 2; i + 2 < in.size() + 1; i += 3) parts.push_back(real(in, i));
  if (parts.empty()) in.invalid("there is nothing to concatenate");
  int axis = in.axis(in.integer("axis"), in.rank(parts[0]));
  return {result(in, concatenate(parts, axis), 0, 1, in.dtype(in[2]))};
}

/// Inputs: a condition, two of (data, scale, zero point), the result's.
Values chosen(Operation& in) { return {result(in, where(in[0], real(in, 1), real(in, 4)), 7, 8, in.dtype(in[1]))}; }

/// Sums of int32 as real numbers.
Expr scaled(const Expr& sums, const Expr& a, const Expr& b) { return multiply(cast(sums, kFloat32), multiply(a, b)); }

/// Inputs: a and b, their scales, their zero points, a bias.
Values matmul_integer_to_float(Operation& in) {
  Expr sums = integer_matmul(in, integers(in, 0, 4), integers(in, 1, 5));
  Expr out = scaled(sums, one_number(in, in[2]), in[3]);
  return {in.has(6) ? add(out, in[6]) : out};
}

/// Inputs: a in floats, b, its scale and zero point, a bias. The integers of a span what it holds.
Values dynamic_quantize_matmul(Operation& in) {
  std::vector<Expr> a = quantized_by_range(in, in[0]);
  Expr sums = integer_matmul(in, integers(in, a[0], a[2]), integers(in, 1, 3));
  Expr out = scaled(sums, a[1], in[2]);
  return {in.has(4) ? add(out, in[4]) : out};
}

/// A matrix transposed; a constant stays one.
Expr transposed(Operation& in, const Expr& x) {
  Expr out = transpose(x);
  if (!x.as<Constant>()) return out;
  return make_constant(*in.constant(out));
}

/// Inputs: a and b, each with scale and zero point, a bias of int32, the result's scale and zero point; without those it is real.
Values quantized_gemm(Operation& in) {
  bool flips_a = in.integer("transA", 0) != 0, flips_b = in.integer("transB", 0) != 0;
  Integers a = integers(in, 0, 2), b = integers(in, 3, 5);
  if (flips_a) a.data = transposed(in, a.data);
  if (flips_b) b.data = transposed(in, b.data);
  Expr sums = integer_matmul(in, a, b);
  if (in.has(6)) sums = add(sums, in[6]);
  Expr factor = multiply(one_number(in, in[1]), make_scalar(in.number("alpha", 1), kFloat32));
  Expr out = scaled(sums, factor, in[4]);
  return {in.has(7) ? result(in, out, 7, 8, in.dtype(in[0])) : out};
}

/// Integers of 16 bits; sums are of 32, signed as the first operand is.
Values matmul_integer16(Operation& in) {
  DataType sums = in.dtype(in[0]).code == DataType::kUInt ? DataType::UInt(32) : DataType::Int(32);
  return {matmul_like_numpy(in, cast(in[0], sums), cast(in[1], sums))};
}

/// Inputs: data, weight, bias, their scales, a mask, their zero points, the past.
Values quantized_attention(Operation& in) {
  Expr sums = integer_matmul(in, integers(in, 0, 6), integers(in, 1, 7));
  Expr projected = add(scaled(sums, one_number(in, in[3]), in[4]), in[2]);
  return attention_of_projections(in, projected, 5, 8, 9);
}

}  // namespace

Rows fused_quantized_rows() {
  return {
      {"DynamicQuantizeMatMul", 1, dynamic_quantize_matmul, kMicrosoftDomain},
      {"MatMulInteger16", 1, matmul_integer16, kMicrosoftDomain},
      {"MatMulIntegerToFloat", 1, matmul_integer_to_float, kMicrosoftDomain},
      {"QAttention", 1, quantized_attention, kMicrosoftDomain},
      {"QGemm", 1, quantized_gemm, kMicrosoftDomain},
      {"QLinearAdd", 1, binary("add"), kMicrosoftDomain},
      {"QLinearConcat", 1, concat, kMicrosoftDomain},
      {"QLinearGlobalAveragePool", 1, unary(global_average), kMicrosoftDomain},
      {"QLinearLeakyRelu", 1, unary(leaky_relu), kMicrosoftDomain},
      {"QLinearMul", 1, binary("multiply"), kMicrosoftDomain},
      {"QLinearSigmoid", 1, unary([](Operation&, const Expr& x) { return sigmoid(x); }), kMicrosoftDomain},
      {"QLinearSoftmax", 1, unary(quantized_softmax), kMicrosoftDomain},
      {"QLinearWhere", 1, chosen, kMicrosoftDomain},
  };
}

}  // namespace tessera::onnx
