// Operators of quantised tensors; `../quantize.h` has what they share with those of floats.

#include "base/dtypes.h"
#include "frontend/common/integer_contractions.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/ops/windows.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/quantize.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

// ---- to integers and back -------------------------------------------------------------------------------------------

DataType integers_of(const Operation& in) {
  if (!is_quantized_type(in.integer("dtype"))) in.invalid("the element type is none of quantised integers");
  return *in.dtype_given();
}

Values quantize_tensor(Operation& in) {
  const Value &scale = in.value("scale"), &zero = in.value("zero_point");
  if (scale.kind == Value::List) in.unsupported("a list of tensors");
  std::optional<double> known = scale.cell ? in.constant_number(scale.expr()) : scale.as_real();
  std::optional<int64_t> origin = in.known_int(zero);
  Quantization by = known && origin ? quantization_of(*known, *origin)
                                    : quantization_of(as_type(in, scale, kFloat32), as_type(in, zero, kInt32));
  return {quantized_value(in, in[0], integers_of(in), by)};
}
Values quantize_channels(Operation& in) {
  const int axis = in.axis_of(in.integer("axis"), in.rank(in[0]));
  Quantization by = quantization_of(as_type(in, in["scales"], kFloat32), as_type(in, in["zero_points"], kInt32), axis);
  return {quantized_value(in, in[0], integers_of(in), by)};
}
Values dequantize(Operation& in) {
  if (in.value(0).kind != Value::List) return {Value(dequantized(in, in.value(0)))};
  std::vector<Value> out;
  for (const Value& item : in.items_of(in.value(0), "tensors")) out.push_back(Value(dequantized(in, item)));
  return {Value::of(std::move(out))};
}
const Quantized& quantization(const Operation& in, const Value& x) {
  if (!x.quantized) in.invalid("the tensor is not quantised");
  return *x.quantized;
}
Values scale_of(Operation& in) {
  const Quantized& by = quantization(in, in.value(0));
  return {by.scale_value > 0 ? Value::of(by.scale_value) : Value::number(Value::Float, cast(by.scale, kFloat64))};
}
Values zero_of(Operation& in) {
  const Quantized& by = quantization(in, in.value(0));
  return {by.scale_value > 0 ? Value::of(by.zero_value) : Value::number(Value::Int, cast(by.zero, kInt64))};
}

/// Integers between quant_min and quant_max, which are no quantised tensor but plain ones.
Expr decomposed(Operation& in, const Quantized& by, DataType dtype) {
  auto [low, high] = range_of(dtype);
  low = std::max(low, in.number("quant_min", low));
  high = std::min(high, in.number("quant_max", high));
  auto number = [&](double value) { return make_scalar(value, dtype); };
  return maximum(minimum(quantized(in, in[0], dtype, by), number(high)), number(low));
}
Quantization given_quantization(Operation& in) {
  const char* scale = in.has("scales") ? "scales" : "scale";
  const char* zero = in.has("zero_points") ? "zero_points" : "zero_point";
  Expr scales = as_type(in, in[scale], kFloat32), zeros;
  zeros = in.has(zero) ? as_type(in, in[zero], kInt32) : cast(zeros_like(scales), kInt32);
  if (in.rank(scales) == 1 && !in.has("axis")) {
    scales = reshape(scales, Array<PrimExpr>());
    zeros = reshape(zeros, Array<PrimExpr>());
  }
  return quantization_of(scales, zeros, in.rank(scales) == 0 ? -1 : in.axis_of(in.integer("axis"), in.rank(in[0])));
}
Values quantize_decomposed(Operation& in) {
  return {Value(decomposed(in, *given_quantization(in), *in.dtype_given()))};
}
Values dequantize_decomposed(Operation& in) { return {Value(dequantized(in, in[0], *given_quantization(in)))}; }
/// Rounded as integers would be, but floats.
Values fake_quantize(Operation& in) {
  Quantization by = given_quantization(in);
  const DataType dtype = in.number("quant_min", 0) < 0 ? kInt8 : kUInt8;
  if (in.number("quant_max", 0) > 255) in.unsupported("more than 8 bits");
  return {Value(dequantized(in, decomposed(in, *by, dtype), *by))};
}

// ---- results --------------------------------------------------------------------------------------------------------

/// Floats as integers of the scale and zero point that the node gives at these positions.
Value result_of(const Operation& in, const Expr& x, DataType dtype, size_t scale, size_t zero) {
  return quantized_value(
      in, x, dtype,
      quantization_of(in.real_of(in.value(scale), "the scale"), in.int_of(in.value(zero), "the zero point")));
}
Expr rectified(const Expr& x, bool is_relu) { return is_relu ? call_op("nn.relu", {x}) : x; }

// ---- layers ---------------------------------------------------------------------------------------------------------

/// What Python takes out of an object of packed weights: see _torch/quantized.py.
struct Packed {
  Expr weight, scales, zeros, bias;
  int axis = -1;
  const std::vector<Value>* numbers = nullptr;
};
Packed packed_of(const Operation& in) {
  const std::vector<Value>& items = in.items_of(in.value(1), "packed weights");
  if (items.size() < 5) in.invalid("the packed weights have too few parts");
  Packed out;
  out.weight = in.tensor_of(items[0]);
  out.scales = as_type(in, items[1], kFloat32);
  out.zeros = as_type(in, items[2], kInt32);
  out.axis = static_cast<int>(in.int_of(items[3], "the axis of scales"));
  if (!items[4].is_absent()) out.bias = in.tensor_of(items[4]);
  out.numbers = &items;
  return out;
}
Ints numbers_at(const Operation& in, const Packed& packed, size_t i) {
  if (packed.numbers->size() <= i) in.invalid("the packed weights have no numbers of a convolution");
  Ints out;
  for (const Value& item : in.items_of((*packed.numbers)[i], "numbers of a convolution"))
    out.push_back(in.int_of(item, "a number of a convolution"));
  return out;
}
/// A vector along one axis of a tensor of `rank` dimensions; a number stays one.
Expr along(const Operation& in, const Expr& x, int axis, size_t rank) {
  return in.rank(x) == 0 ? x : expand_dims(x, 1, static_cast<int>(rank) - 1 - axis);
}

Expr integer_sums(Operation& in, const Expr& data, const Packed& packed, ConvWindows windows) {
  const Quantized& by = quantization(in, in.value(0));
  const size_t rank = in.rank(packed.weight);
  Expr sums = integer_convolution(in, integers(in, data, by.zero), integers(in, packed.weight, packed.zeros), windows);
  return multiply(cast(sums, kFloat32), multiply(by.scale, along(in, packed.scales, 1, rank)));
}

Converter convolved(bool is_relu, bool is_transposed = false) {
  return [=](Operation& in) -> Values {
    Packed packed = packed_of(in);
    const bool is_line = in.name().find("1d") != std::string::npos;  // packed as an image of one row
    const size_t rank = in.rank(packed.weight);
    Ints shape = in.static_shape(packed.weight, "the weight of a convolution");
    if (in.rank(in[0]) + is_line != rank || rank < 3) in.unsupported("data without a batch");
    auto image = [&](const Expr& x) { return is_line ? expand_dims(x, 2) : x; };
    ConvWindows windows;
    windows.kernel = {shape.begin() + 2, shape.end()};
    windows.strides = numbers_at(in, packed, 5);
    windows.padding = numbers_at(in, packed, 6);
    windows.dilations = numbers_at(in, packed, 7);
    windows.groups = in.int_of((*packed.numbers)[8], "the number of groups");
    const Ints pads = windows.padding;
    windows.padding.insert(windows.padding.end(), pads.begin(), pads.end());
    for (const Ints& given : {windows.strides, windows.dilations, pads})
      if (given.size() != rank - 2) in.invalid("numbers of a convolution that do not fit its weight");
    Expr out;
    if (is_transposed) {
      Expr weight = dequantized(in, packed.weight, *quantization_of(packed.scales, packed.zeros, packed.axis));
      out = onnx::apply(in, "ConvTranspose", {image(dequantized(in, in.value(0))), weight},
                        {{"strides", std::vector<int64_t>(windows.strides)},
                         {"dilations", std::vector<int64_t>(windows.dilations)},
                         {"pads", std::vector<int64_t>(windows.padding)},
                         {"group", windows.groups},
                         {"output_padding", std::vector<int64_t>(numbers_at(in, packed, 9))}});
    } else {
      out = integer_sums(in, image(in[0]), packed, windows);
    }
    if (packed.bias.defined()) out = add(out, along(in, packed.bias, 1, rank));
    if (is_line) out = squeeze(out, int_array({2}));
    return {result_of(in, rectified(out, is_relu), in.dtype(in[0]), 2, 3)};
  };
}

/// data (..., k) less its zero point by a packed weight (n, k), with the bias.
Expr linear_sums(Operation& in, const Expr& data, const Expr& scale, const Expr& zero, const Packed& packed) {
  Expr weight = transpose(packed.weight, int_array({1, 0}));
  if (std::optional<NDArray> known = in.constant(weight)) weight = make_constant(*known);
  Expr sums = integer_matmul(in, integers(in, data, zero), integers(in, weight, packed.zeros));
  Expr out = multiply(cast(sums, kFloat32), multiply(scale, packed.scales));
  return packed.bias.defined() ? add(out, packed.bias) : out;
}
Converter linear_of_integers(bool is_relu) {
  return [=](Operation& in) -> Values {
    const Quantized& by = quantization(in, in.value(0));
    Expr out = linear_sums(in, in[0], by.scale, by.zero, packed_of(in));
    return {result_of(in, rectified(out, is_relu), in.dtype(in[0]), 2, 3)};
  };
}
/// The data becomes integers of the range that a run finds.
Converter linear_of_floats(bool is_relu) {
  return [=](Operation& in) -> Values {
    auto number = [](double value) { return make_scalar(value, kFloat32); };
    Expr x = cast_if_needed(in, in[0], kFloat32);
    const double most = in.flag("reduce_range", false) ? 127 : 255;
    Expr high = maximum(reduce("max", x, nullptr), number(0)), low = minimum(reduce("min", x, nullptr), number(0));
    Expr scale = divide(subtract(high, low), number(most));
    scale = where(equal(scale, number(0)), number(0.1), scale);
    Expr zero = round_to_even(clip(negative(divide(low, scale)), 0, most));
    Expr data = cast(clip(add(round_to_even(divide(x, scale)), zero), 0, most), kUInt8);
    return {Value(rectified(linear_sums(in, data, scale, cast(zero, kInt32), packed_of(in)), is_relu))};
  };
}

/// Inputs: data, weight, bias, mean, variance, epsilon, and what the result is quantized by.
Converter normalized(bool is_relu) {
  return [=](Operation& in) -> Values {
    Expr x = dequantized(in, in.value(0));
    auto by_channel = [&](size_t i) { return along(in, in[i], 1, in.rank(x)); };
    Expr deviation = sqrt(add(by_channel(4), make_scalar(in.real_of(in.value(5), "epsilon"), kFloat32)));
    Expr out = add(multiply(divide(subtract(x, by_channel(3)), deviation), by_channel(1)), by_channel(2));
    return {result_of(in, rectified(out, is_relu), in.dtype(in[0]), 6, 7)};
  };
}

// ---- element by element ---------------------------------------------------------------------------------------------

Converter of_two(Expr (*combine)(Expr, Expr), bool is_relu) {
  return [=](Operation& in) -> Values {
    quantization(in, in.value(0));
    Expr out = combine(dequantized(in, in.value(0)), dequantized(in, in.value(1)));
    return {result_of(in, rectified(out, is_relu), in.dtype(in[0]), 2, 3)};
  };
}

/// The scale and zero point known while importing, as these operators compute new ones.
std::pair<double, double> known_quantization(const Operation& in) {
  const Quantized& by = quantization(in, in.value(0));
  if (by.scale_value <= 0) in.unsupported("a scale that a run decides");
  return {by.scale_value, static_cast<double>(by.zero_value)};
}
Value of_integers(const Expr& integers, double scale, double zero) {
  Value out(integers);
  out.quantized = quantization_of(scale, static_cast<int64_t>(zero));
  return out;
}

/// The zero point moves; where it would leave the range, the scale grows.
Converter plus_number(bool is_relu) {
  return [=](Operation& in) -> Values {
    const auto [scale, zero] = known_quantization(in);
    const DataType dtype = in.dtype(in[0]);
    const auto [low, high] = range_of(dtype);
    const double moved = zero - std::nearbyint(in.real_of(in.value(1), "the number") / scale);
    Value out;
    if (moved >= low && moved <= high) {
      out = of_integers(in[0], scale, moved);
    } else {
      const double origin = moved < low ? low : high;
      const double wider = (moved < low ? high - moved : moved - low) / (high - low) * scale;
      Quantization now = quantization_of(wider, static_cast<int64_t>(origin));
      Expr sums = subtract(cast(in[0], kInt32), make_scalar(moved, kInt32));
      out = quantized_value(in, multiply(cast(sums, kFloat32), make_scalar(scale, kFloat32)), dtype, now);
    }
    if (is_relu)
      out = of_integers(maximum(out.expr(), make_scalar(static_cast<double>(out.quantized->zero_value), dtype)),
                        out.quantized->scale_value, static_cast<double>(out.quantized->zero_value));
    return {out};
  };
}
Converter times_number(bool is_relu) {
  return [=](Operation& in) -> Values {
    const auto [scale, zero] = known_quantization(in);
    const DataType dtype = in.dtype(in[0]);
    const auto [low, high] = range_of(dtype);
    const double factor = in.real_of(in.value(1), "the number");
    Value out;
    if (factor == 0) {
      out = of_integers(zeros_like(in[0]), 0.1, 0);
    } else if (factor > 0) {
      out = of_integers(in[0], scale * factor, zero);
    } else {
      Expr turned = subtract(make_scalar(high + low, kInt32), cast(in[0], kInt32));
      out = of_integers(cast(turned, dtype), -scale * factor, high - (zero - low));
    }
    if (is_relu)
      out = of_integers(maximum(out.expr(), make_scalar(static_cast<double>(out.quantized->zero_value), dtype)),
                        out.quantized->scale_value, static_cast<double>(out.quantized->zero_value));
    return {out};
  };
}

Converter concatenated(bool is_relu) {
  return [=](Operation& in) -> Values {
    const std::vector<Value>& items = in.items_of(in.value(0), "tensors");
    if (items.empty()) in.invalid("there are no tensors");
    Array<Expr> parts;
    for (const Value& item : items) parts.push_back(dequantized(in, item));
    const int axis = in.axis_of(in.int_of(in.value(1), "the axis"), in.rank(parts[0]));
    Expr all = rectified(concatenate(parts, axis), is_relu);
    const DataType dtype = in.dtype(items[0].expr());
    if (in.has(2) && in.has(3)) return {result_of(in, all, dtype, 2, 3)};
    quantization(in, items[0]);
    return {quantized_value(in, all, dtype, items[0].quantized)};
  };
}

Values relu6_of_integers(Operation& in) {
  const auto [scale, zero] = known_quantization(in);
  const auto [low, high] = range_of(in.dtype(in[0]));
  const double most = std::min(high, zero + std::nearbyint(6 / scale));
  auto number = [&](double value) { return make_scalar(value, in.dtype(in[0])); };
  return {of_integers(minimum(maximum(in[0], number(std::max(low, zero))), number(most)), scale, zero)};
}

/// An operator of floats whose result has the scale and zero point at these positions.
Converter by_floats(const char* op, size_t scale, size_t zero, size_t first_number = 0) {
  return [=](Operation& in) -> Values {
    Operation::Args args{{"self", Value(dequantized(in, in.value(0)))}};
    constexpr const char* kNames[] = {"negative_slope", "alpha"};
    if (first_number) args.emplace_back(kNames[std::string_view(op) != "aten::leaky_relu"], in.value(first_number));
    Operation of_floats(in.importer(), in.node(), args);
    Values out = find_converter(op)(of_floats);
    return {result_of(in, out[0].expr(), in.dtype(in[0]), scale, zero)};
  };
}

}  // namespace

Rows quantized_rows() {
  Rows rows{
      {"aten::dequantize", dequantize},
      {"aten::fake_quantize_per_channel_affine", fake_quantize},
      {"aten::fake_quantize_per_tensor_affine", fake_quantize},
      {"aten::int_repr", [](Operation& in) -> Values { return {Value(in[0])}; }},
      {"aten::q_scale", scale_of},
      {"aten::q_zero_point", zero_of},
      {"aten::quantize_per_channel", quantize_channels},
      {"aten::quantize_per_tensor", quantize_tensor},
      {"quantized::add", of_two(add, false)},
      {"quantized::add_relu", of_two(add, true)},
      {"quantized::add_scalar", plus_number(false)},
      {"quantized::add_scalar_relu", plus_number(true)},
      {"quantized::batch_norm2d", normalized(false)},
      {"quantized::batch_norm2d_relu", normalized(true)},
      {"quantized::batch_norm3d", normalized(false)},
      {"quantized::batch_norm3d_relu", normalized(true)},
      {"quantized::cat", concatenated(false)},
      {"quantized::cat_relu", concatenated(true)},
      {"quantized::elu", by_floats("aten::elu", 1, 2, 3)},
      {"quantized::hardswish", by_floats("aten::hardswish", 1, 2)},
      {"quantized::leaky_relu", by_floats("aten::leaky_relu", 3, 4, 1)},
      {"quantized::linear", linear_of_integers(false)},
      {"quantized::linear_dynamic", linear_of_floats(false)},
      {"quantized::linear_relu", linear_of_integers(true)},
      {"quantized::linear_relu_dynamic", linear_of_floats(true)},
      {"quantized::mul", of_two(multiply, false)},
      {"quantized::mul_relu", of_two(multiply, true)},
      {"quantized::mul_scalar", times_number(false)},
      {"quantized::mul_scalar_relu", times_number(true)},
      {"quantized::relu6", relu6_of_integers},
      {"quantized::sigmoid", by_floats("aten::sigmoid", 1, 2)},
      {"quantized_decomposed::dequantize_per_channel", dequantize_decomposed},
      {"quantized_decomposed::dequantize_per_tensor", dequantize_decomposed},
      {"quantized_decomposed::quantize_per_channel", quantize_decomposed},
      {"quantized_decomposed::quantize_per_tensor", quantize_decomposed},
  };
  constexpr const char* kConvolutions[][3] = {
      {"quantized::conv1d", "quantized::conv1d_relu", "quantized::conv_transpose1d"},
      {"quantized::conv2d", "quantized::conv2d_relu", "quantized::conv_transpose2d"},
      {"quantized::conv3d", "quantized::conv3d_relu", "quantized::conv_transpose3d"}};
  for (const auto& [plain, with_relu, transposed] : kConvolutions) {
    rows.push_back({plain, convolved(false)});
    rows.push_back({with_relu, convolved(true)});
    rows.push_back({transposed, convolved(false, true)});
  }
  return rows;
}

}  // namespace tessera::torch
