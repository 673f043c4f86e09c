// Operators that fuse an activation, and those that know about quantised tensors themselves.

#include <functional>
#include <numeric>

#include "frontend/common/parts.h"
#include "frontend/tensorflow/nn.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/quantize.h"
#include "relay/attrs/qnn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tflite {
namespace {

using namespace relay;  // NOLINT: makers of calls
using tensorflow::Pool;
using tensorflow::Windows;

int64_t activation_of(Node& in) { return in.integer("activation", 0); }
Values finished(Node& in, const Expr& out) {
  return {quantized(in, activated(in, out, activation_of(in)), in.quantized_output(0), in.output_type(0))};
}

/// Of integers of 8 bits the operator `integers`, of others that of floats. Operands with scales of their own are added as
/// floats, since what stands for the result is rounded once; qnn.add rounds each operand as well.
Converter binary(const char* plain, const char* integers) {
  return [plain, integers](Node& in) {
    const Quantization &a = in.quantized_input(0), &b = in.quantized_input(1), &to = in.quantized_output(0);
    const bool is_quantized =
        a.is_given() && b.is_given() && to.is_given() && a.scale.size() == 1 && b.scale.size() == 1;
    if (!in.is_quantized()) return finished(in, call_op(plain, {in[0], in[1]}));
    if (!is_quantized || in.dtype(in[0]).bits != 8 || !integers)
      return finished(in, call_op(plain, {floats(in, 0), floats(in, 1)}));
    const DataType dtype = in.output_type(0);
    Expr out =
        call_op(integers, {in[0], in[1], scale_of(a), zero_of(a), scale_of(b), zero_of(b), scale_of(to), zero_of(to)},
                make_attrs<BroadcastAttrs>([](auto&) {}));
    return Values{activated_integers(in, out, activation_of(in), to, dtype)};
  };
}

Windows pool_windows_of(Node& in) {
  Windows out;
  out.kernel = Ints{in.integer("filter_h", 1), in.integer("filter_w", 1)};
  out.strides = Ints{in.integer("stride_h", 1), in.integer("stride_w", 1)};
  out.dilations = Ints{1, 1};
  out.padding = in.text("padding", "VALID");
  return out;
}

/// An average of integers is rounded to the nearest.
Values average_pool(Node& in) {
  const Quantization &from = in.quantized_input(0), &to = in.quantized_output(0);
  if (!from.is_given()) return finished(in, tensorflow::pool_of(in, in[0], Pool::Average, pool_windows_of(in)));
  const DataType dtype = in.output_type(0);
  Expr mean = tensorflow::pool_of(in, cast(in[0], DataType::Float(32)), Pool::Average, pool_windows_of(in));
  Expr out = requantized(in, cast(call_op("round", {mean}), in.dtype(in[0])), from, to, dtype);
  return {activated_integers(in, out, activation_of(in), to, dtype)};
}

Values max_pool(Node& in) {
  const Quantization &from = in.quantized_input(0), &to = in.quantized_output(0);
  Expr out = tensorflow::pool_of(in, in[0], Pool::Max, pool_windows_of(in));
  if (!from.is_given()) return finished(in, out);
  const DataType dtype = in.output_type(0);
  return {activated_integers(in, requantized(in, out, from, to, dtype), activation_of(in), to, dtype)};
}

Values l2_pool(Node& in) {
  Expr x = floats(in, 0);
  return finished(in, sqrt(tensorflow::pool_of(in, multiply(x, x), Pool::Average, pool_windows_of(in))));
}

bool is_within_eight_bits(int64_t zero) { return zero >= INT8_MIN && zero <= UINT8_MAX; }

/// How many elements each sum of 8 bits has; nothing where that is not known or int32 may not hold the sums.
std::optional<int64_t> elements_of_sums(Node& in, const Expr& sums) {
  auto elements = [&](const Expr& x) -> std::optional<int64_t> {
    auto shape = in.fixed_shape(x);
    if (!shape) return std::nullopt;
    return std::accumulate(shape->begin(), shape->end(), int64_t(1), std::multiplies<>());
  };
  const auto all = elements(in[0]), left = elements(sums);
  constexpr int64_t kMax = INT32_MAX >> 9;  // the distance from a zero point has nine bits
  if (!all || !left || *left == 0 || *all < *left || *all / *left > kMax) return std::nullopt;
  return *all / *left;
}

/// A sum or mean: of integers of 8 bits their sums, which are rounded once, of others that of floats.
Converter reduction(const char* op, bool is_mean) {
  return [op, is_mean](Node& in) {
    if (!in.is_quantized()) return as(op)(in);
    const Quantization &from = in.quantized_input(0), &to = in.quantized_output(0);
    if (in.dtype(in[0]).bits == 8 && from.scale.size() == 1 && to.scale.size() == 1 &&
        is_within_eight_bits(from.zero[0])) {
      Node whole = in.with_inputs({Value(cast(in[0], DataType::Int(32))), in.value(1)});
      Expr sums = as("Sum")(whole).at(0).tensor;
      if (std::optional<int64_t> count = elements_of_sums(in, sums)) {
        Quantization each = from;
        each.zero[0] *= *count;
        if (is_mean) each.scale[0] /= static_cast<float>(*count);
        return Values{requantized(in, sums, each, to, in.output_type(0))};
      }
    }
    Node whole = in.with_inputs({Value(floats(in, 0)), in.value(1)});
    return Values{quantized(in, as(op)(whole).at(0).tensor, to, in.output_type(0))};
  };
}

Values concatenation(Node& in) {
  const Quantization& to = in.quantized_output(0);
  Array<Expr> parts;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool is_integer = to.is_given() && in.quantized_input(i).is_given();
    parts.push_back(is_integer ? requantized(in, in[i], in.quantized_input(i), to, in.output_type(0)) : in[i]);
  }
  if (parts.empty()) in.invalid("there is nothing to concatenate");
  const int axis = in.axis(in.integer("axis", 0), in.rank(parts[0]));
  Expr out = parts.size() == 1 ? parts[0] : concatenate(parts, axis);
  if (!to.is_given()) return {activated(in, out, activation_of(in))};
  return {activated_integers(in, out, activation_of(in), to, in.output_type(0))};
}

/// An activation that is an operator of its own.
Converter clipped(int64_t activation) {
  return [activation](Node& in) {
    const Quantization &from = in.quantized_input(0), &to = in.quantized_output(0);
    if (!from.is_given() || !to.is_given()) return Values{activated(in, in[0], activation)};
    const DataType dtype = in.output_type(0);
    return Values{activated_integers(in, requantized(in, in[0], from, to, dtype), activation, to, dtype)};
  };
}

Values quantize(Node& in) {
  const Quantization &from = in.quantized_input(0), &to = in.quantized_output(0);
  if (is_float(in.dtype(in[0]))) return {quantized(in, in[0], to, in.output_type(0))};
  return {requantized(in, in[0], from, to, in.output_type(0))};
}

Values dequantize(Node& in) {
  if (is_float(in.dtype(in[0]))) return {cast_if_needed(in, in[0], in.output_type(0))};  // weights of 16 bits
  return {cast_if_needed(in, floats(in, 0), in.output_type(0))};
}

}  // namespace

Rows arithmetic_rows() {
  constexpr Quantized kItself = Quantized::ByItself;
  return {
      {0, "ADD", kItself, binary("add", nullptr)},
      {1, "AVERAGE_POOL_2D", kItself, average_pool},
      {2, "CONCATENATION", kItself, concatenation},
      {6, "DEQUANTIZE", kItself, dequantize},
      {42, "DIV", kItself, binary("divide", nullptr)},
      {12, "L2_POOL_2D", kItself, l2_pool},
      {17, "MAX_POOL_2D", kItself, max_pool},
      {40, "MEAN", kItself, reduction("Mean", true)},
      {18, "MUL", kItself, binary("multiply", "qnn.mul")},
      {114, "QUANTIZE", kItself, quantize},
      {19, "RELU", kItself, clipped(1)},
      {21, "RELU6", kItself, clipped(3)},
      {20, "RELU_N1_TO_1", kItself, clipped(2)},
      {152, "RELU_0_TO_1", Quantized::ByTable, as("Relu0To1")},
      {41, "SUB", kItself, binary("subtract", nullptr)},
      {74, "SUM", kItself, reduction("Sum", false)},
  };
}

}  // namespace tessera::tflite
