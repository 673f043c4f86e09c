#include "frontend/torch/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "relay/attrs/qnn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {

using namespace relay;  // NOLINT: makers of calls

Quantization quantization_of(double scale, int64_t zero) {
  if (!std::isfinite(scale) || scale <= 0) throw Error(ValueError) << "a scale of quantised numbers is " << scale;
  Quantized out;
  out.scale = make_scalar(scale, kFloat32);
  out.zero = make_scalar(static_cast<double>(zero), kInt32);
  out.scale_value = scale;
  out.zero_value = zero;
  return std::make_shared<const Quantized>(out);
}

Quantization quantization_of(const Expr& scale, const Expr& zero, int axis) {
  Quantized out;
  out.scale = scale;
  out.zero = zero;
  out.axis = axis;
  return std::make_shared<const Quantized>(out);
}

Expr dequantized(const Operation& in, const Expr& integers, const Quantized& by) {
  return call_op("qnn.dequantize", {integers, by.scale, cast_if_needed(in, by.zero, kInt32)},
                 make_attrs<DequantizeAttrs>([&](auto& attrs) { attrs.axis = by.axis; }));
}
Expr dequantized(const Operation& in, const Value& x) {
  return x.quantized ? dequantized(in, x.expr(), *x.quantized) : in.tensor_of(x);
}

Expr quantized(const Operation& in, const Expr& x, DataType dtype, const Quantized& by) {
  return call_op("qnn.quantize", {cast_if_needed(in, x, kFloat32), by.scale, cast_if_needed(in, by.zero, kInt32)},
                 make_attrs<QuantizeAttrs>([&](auto& attrs) {
                   attrs.out_dtype = dtype;
                   attrs.axis = by.axis;
                   attrs.rounding = "TOEVEN";
                 }));
}
Value quantized_value(const Operation& in, const Expr& x, DataType dtype, const Quantization& by) {
  Value out(quantized(in, x, dtype, *by));
  out.quantized = by;
  return out;
}

std::pair<double, double> range_of(DataType dtype) {
  const double all = std::ldexp(1.0, dtype.bits);
  return dtype.is_uint() ? std::pair(0.0, all - 1) : std::pair(-all / 2, all / 2 - 1);
}

namespace {

constexpr std::string_view kMoves[] = {"_reshape_alias",
                                       "_unsafe_view",
                                       "alias",
                                       "chunk",
                                       "clone",
                                       "contiguous",
                                       "detach",
                                       "expand",
                                       "expand_as",
                                       "flatten",
                                       "flip",
                                       "max_pool1d",
                                       "max_pool2d",
                                       "max_pool3d",
                                       "narrow",
                                       "permute",
                                       "pixel_shuffle",
                                       "relu",
                                       "repeat",
                                       "reshape",
                                       "reshape_as",
                                       "roll",
                                       "select",
                                       "slice",
                                       "split",
                                       "split_with_sizes",
                                       "squeeze",
                                       "t",
                                       "transpose",
                                       "unbind",
                                       "unflatten",
                                       "unsafe_chunk",
                                       "unsqueeze",
                                       "upsample_nearest1d",
                                       "upsample_nearest2d",
                                       "upsample_nearest3d",
                                       "view",
                                       "view_as"};
constexpr std::string_view kOwn[] = {"dequantize", "int_repr", "q_per_channel_scales", "q_scale", "q_zero_point"};
constexpr std::string_view kOfLists[] = {"cat", "concat", "concatenate", "stack"};

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Results that lie between fixed bounds have a scale that covers those.
Quantization fixed_quantization(const std::string& name, DataType dtype) {
  const int64_t low = dtype.is_uint() ? 0 : -128;
  if (name == "sigmoid" || name == "hardsigmoid" || name == "softmax") return quantization_of(1.0 / 256, low);
  if (name == "tanh") return quantization_of(2.0 / 256, low + 128);
  return nullptr;
}

void mark(Value& value, const Quantization& by, DataType dtype, const Operation& in) {
  if (value.kind == Value::List)
    for (Value& item : *value.items) mark(item, by, dtype, in);
  else if (value.is_tensor() && in.dtype(value.expr()) == dtype) value.quantized = by;
}

}  // namespace

bool only_moves(std::string_view name) { return is_one_of(name, kMoves); }

Values convert_any(Operation& in, const Converter& convert) {
  const std::string name = in.name();
  if (!in.node().op.starts_with("aten::") || is_one_of(name, kOwn)) return convert(in);
  if (has_complex(in)) return convert_complex(in, convert);
  const Value* first = nullptr;
  auto look_at = [&](const Value& value) {
    if (!first && value.quantized) first = &value;
  };
  const bool of_lists = is_one_of(name, kOfLists);
  for (const auto& [_, value] : in.args()) {
    look_at(value);
    if (of_lists && value.kind == Value::List)
      for (const Value& item : *value.items) look_at(item);
  }
  if (!first) return convert(in);
  const DataType dtype = in.dtype(first->expr());
  if (only_moves(name)) {
    Quantization by = first->quantized;
    Values out = convert(in);
    for (Value& value : out) mark(value, by, dtype, in);
    return out;
  }
  Quantization by = fixed_quantization(name, dtype);
  if (!by) by = first->quantized;
  Operation::Args args;
  for (const auto& [own, value] : in.args()) {
    Value now = value;
    if (value.quantized) now = Value(dequantized(in, value));
    if (of_lists && value.kind == Value::List) {
      std::vector<Value> items;
      for (const Value& item : *value.items) items.push_back(item.quantized ? Value(dequantized(in, item)) : item);
      now = Value::of(std::move(items));
    }
    args.emplace_back(own, std::move(now));
  }
  Operation of_floats(in.importer(), in.node(), args);
  Values out = convert(of_floats);
  for (Value& value : out)
    if (value.is_tensor() && !value.quantized && is_float(in.dtype(value.expr())))
      value = quantized_value(in, value.expr(), dtype, by);
  return out;
}

}  // namespace tessera::torch
