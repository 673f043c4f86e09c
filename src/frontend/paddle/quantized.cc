// Quantisation as programs have it: what integers stand for is known by a scale, the largest value of a tensor or channel.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/paddle/paddle.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// The integers of a scale's largest value and below: 127 of 8 bits.
double most_of(const LayerNode& in) {
  const int64_t bits = in.integer("bit_length", 8);
  if (bits < 2 || bits > 16) in.unsupported("integers of " + std::to_string(bits) + " bits");
  return std::ldexp(1.0, static_cast<int>(bits) - 1) - 1;
}

/// The scale as it broadcasts against the data; one a tensor, or one for each element of an axis.
Expr scale_of(const LayerNode& in, const Expr& x, const char* slot) {
  Expr scale = cast_if_needed(in, in.slot(slot), in.dtype(x));
  const int64_t axis = in.integer("quant_axis", -1);
  const auto rank = static_cast<int>(in.rank(x));
  if (in.rank(scale) == 0) return scale;
  if (in.static_shape(scale, "a scale").at(0) == 1 || axis < 0) return typed(reshape_to(scale, {}));
  const int along = in.axis(axis, static_cast<size_t>(rank));
  return along + 1 == rank ? scale : typed(expand_dims(scale, 1, rank - along - 1));
}

Expr quantized(const LayerNode& in, const Expr& x, const Expr& scale) {
  const double most = most_of(in);
  Expr steps = divide(multiply(x, make_scalar(most, in.dtype(x))), scale);
  Expr rounded = in.integer("round_type", 1) == 0 ? round_to_even(steps) : call_op("round", {steps});
  return clip(rounded, -most - 1, most);
}
Expr dequantized(const LayerNode& in, const Expr& steps, const Expr& scale, DataType dtype) {
  return divide(multiply(steps, scale), make_scalar(most_of(in), dtype));
}

Exprs quantize(LayerNode& in) {
  Expr x = in.slot("X");
  if (in.dtype(x) == DataType::Int(8)) return in.results({{"Y", {x}}});
  return in.results({{"Y", {quantized(in, x, scale_of(in, x, "Scale"))}}});
}
Exprs dequantize(LayerNode& in) {
  Expr x = in.slot("X");
  if (!is_float(in.dtype(x))) x = typed(cast(x, in.dtype(in.slot("Scale"))));
  return in.results({{"Y", {dequantized(in, x, scale_of(in, x, "Scale"), in.dtype(x))}}});
}
/// Both at once, as training has it, with the scale that training found.
Exprs fake_quantize(LayerNode& in) {
  Expr x = in.slot("X"), scale = scale_of(in, x, "InScale");
  return in.results({{"Out", {dequantized(in, typed(quantized(in, x, scale)), scale, in.dtype(x))}},
                     {"OutScale", {in.slot("InScale")}}});
}
/// The scale is the largest value of the data, of all of it or of each channel.
LayerConverter fake_quantize_by_largest(bool by_channel) {
  return [by_channel](LayerNode& in) {
    Expr x = in.slot("X");
    Array<PrimExpr> kept = by_channel ? int_array({in.axis(in.integer("quant_axis", 0), in.rank(x))}) : int_array({});
    Expr scale = typed(reduce("max", call_op("abs", {x}), kept, true, true));
    return in.results({{"Out", {dequantized(in, typed(quantized(in, x, scale)), scale, in.dtype(x))}}});
  };
}

}  // namespace

LayerRows quantized_rows() {
  return {
      {"dequantize_linear", dequantize},
      {"fake_channel_wise_quantize_dequantize_abs_max", fake_quantize_by_largest(true)},
      {"fake_quantize_dequantize_abs_max", fake_quantize_by_largest(false)},
      {"fake_quantize_dequantize_moving_average_abs_max", fake_quantize},
      {"quantize_linear", quantize},
  };
}

}  // namespace tessera::paddle
