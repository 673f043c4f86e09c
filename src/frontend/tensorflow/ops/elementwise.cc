// Operators on single elements, broadcast to each other where there are several inputs.

#include <cmath>
#include <limits>

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr like_first(Operation& in, double value) { return make_scalar(value, in.dtype(in[0])); }

Converter unary(const char* op) {
  return [op](Operation& in) { return Values{call_op(op, {in[0]})}; };
}

Converter binary(const char* op) {
  return [op](Operation& in) { return Values{call_op(op, {in[0], in[1]})}; };
}

/// Of floats one operator, of integers another.
Converter binary_by_type(const char* of_floats, const char* of_ints) {
  return [of_floats, of_ints](Operation& in) {
    return Values{call_op(is_float(in.dtype(in[0])) ? of_floats : of_ints, {in[0], in[1]})};
  };
}

Values identity(Operation& in) { return in.size() == 0 ? Values{} : Values{in.value(0)}; }
Values identities(Operation& in) { return in.inputs(); }
/// What only has an effect, as a check or a message.
Values nothing(Operation&) { return {}; }

Values add_n(Operation& in) {
  Expr out = in[0];
  for (size_t i = 1; i < in.size(); ++i) out = add(out, in[i]);
  return {out};
}

/// floor(a / b) of floats.
Values floor_div(Operation& in) {
  if (is_float(in.dtype(in[0]))) return {call_op("floor", {divide(in[0], in[1])})};
  return {call_op("floor_divide", {in[0], in[1]})};
}

/// Relay's power is of floats; what float64 holds of integers' powers is exact.
Values power_of(Operation& in) {
  const DataType dtype = in.dtype(in[0]), wide = DataType::Float(64);
  if (is_float(dtype)) return {power(in[0], in[1])};
  return {cast(call_op("round", {power(cast(in[0], wide), cast(in[1], wide))}), dtype)};
}

Values floor_mod(Operation& in) { return {call_op("floor_mod", {in[0], in[1]})}; }

/// 0 where the denominator is.
Values div_no_nan(Operation& in) {
  Expr zero = zeros_like(in[1]), is_zero = equal(in[1], zero);
  return {where(is_zero, multiply(in[0], zero), divide(in[0], where(is_zero, ones_like(in[1]), in[1])))};
}
Values mul_no_nan(Operation& in) {
  Expr is_zero = equal(in[1], zeros_like(in[1]));
  Expr out = multiply(in[0], in[1]);
  return {where(is_zero, zeros_like(out), out)};
}
/// 0 where x is, whatever y.
Converter of_x_and(Expr (*of)(Operation& in, const Expr& y)) {
  return [of](Operation& in) {
    Expr out = multiply(in[0], of(in, in[1])), is_zero = equal(in[0], zeros_like(in[0]));
    return Values{where(is_zero, zeros_like(out), out)};
  };
}

Values squared_difference(Operation& in) {
  Expr apart = subtract(in[0], in[1]);
  return {multiply(apart, apart)};
}
Values square(Operation& in) { return {multiply(in[0], in[0])}; }
Values reciprocal(Operation& in) { return {divide(like_first(in, 1), in[0])}; }
Values expm1(Operation& in) {
  // Near zero exp(x) - 1 loses its digits: 2 sinh(x / 2) exp(x / 2) does not.
  Expr half = multiply(in[0], like_first(in, 0.5));
  return {multiply(multiply(like_first(in, 2), call_op("sinh", {half})), exp(half))};
}
/// Near zero 1 + x loses digits of x: log(u) * x / (u - 1) with u = 1 + x puts them right.
Values log1p(Operation& in) {
  Expr one = like_first(in, 1), u = add(one, in[0]), rest = subtract(u, one);
  Expr is_small = equal(rest, like_first(in, 0));
  Expr is_infinite = equal(u, in[0]);
  Expr precise = divide(multiply(log(u), in[0]), where(is_small, one, rest));
  return {where(is_small, in[0], where(is_infinite, log(u), precise))};
}
Values softplus(Operation& in) {
  Expr zero = like_first(in, 0), one = like_first(in, 1), x = in[0];
  return {add(maximum(x, zero), log(add(one, exp(negative(call_op("abs", {x}))))))};
}
Values softsign(Operation& in) { return {divide(in[0], add(like_first(in, 1), call_op("abs", {in[0]})))}; }

Expr elu_of(const Expr& x, DataType dtype, double alpha) {
  Expr zero = make_scalar(0, dtype), one = make_scalar(1, dtype);
  return where(greater(x, zero), x, multiply(make_scalar(alpha, dtype), subtract(exp(minimum(x, zero)), one)));
}
Values elu(Operation& in) { return {elu_of(in[0], in.dtype(in[0]), 1)}; }
Values selu(Operation& in) {
  constexpr double kAlpha = 1.6732632423543772848170429916717, kScale = 1.0507009873554804934193349852946;
  return {multiply(like_first(in, kScale), elu_of(in[0], in.dtype(in[0]), kAlpha))};
}
Values leaky_relu(Operation& in) {
  double alpha = in.number("alpha", 0.2);
  return {call_op("nn.leaky_relu", {in[0]}, make_attrs<LeakyReluAttrs>([&](auto& attrs) { attrs.alpha = alpha; }))};
}
Values relu6(Operation& in) { return {clip(in[0], 0, 6)}; }
Values relu_n1_to_1(Operation& in) { return {clip(in[0], -1, 1)}; }
Values relu_0_to_1(Operation& in) { return {clip(in[0], 0, 1)}; }
Values hard_swish(Operation& in) {
  Expr shifted = clip(add(in[0], like_first(in, 3)), 0, 6);
  return {multiply(in[0], multiply(shifted, like_first(in, 1.0 / 6)))};
}
Values gelu(Operation& in) {
  Expr x = in[0], one = like_first(in, 1), half = like_first(in, 0.5);
  if (in.flag("approximate", true)) {
    Expr cube = multiply(multiply(x, x), x);
    Expr inner = multiply(like_first(in, std::sqrt(2 / M_PI)), add(x, multiply(like_first(in, 0.044715), cube)));
    return {multiply(multiply(half, x), add(one, tanh(inner)))};
  }
  return {multiply(multiply(half, x), add(one, call_op("erf", {multiply(x, like_first(in, std::sqrt(0.5)))})))};
}
Values prelu(Operation& in) {
  Expr zero = like_first(in, 0);
  return {where(less(in[0], zero), multiply(in[0], in[1]), in[0])};
}

Values clip_by_value(Operation& in) {
  std::optional<double> low = in.constant_number(in[1]), high = in.constant_number(in[2]);
  if (low && high && is_float(in.dtype(in[0]))) return {clip(in[0], *low, *high)};
  return {maximum(minimum(in[0], in[2]), in[1])};
}

Values cast_to(Operation& in) {
  DataType to = in.type("DstT", DataType::Float(32)), from = in.dtype(in[0]);
  if (from == to) return {in[0]};
  if (to == DataType::Bool()) return {call_op("not_equal", {in[0], like_first(in, 0)})};
  return {cast(in[0], to)};
}

/// The bits of the elements as another type.
Values bitcast(Operation& in) {
  DataType to = in.type("type", DataType::Float(32)), from = in.dtype(in[0]);
  if (to.bits != from.bits) in.unsupported("types of different sizes");
  return {call_op("reinterpret", {in[0]}, make_attrs<CastAttrs>([&](auto& attrs) { attrs.dtype = to; }))};
}

Values is_inf(Operation& in) { return {call_op("isinf", {in[0]})}; }

/// Angle of the point (x, y): the quadrant decides.
Values atan2(Operation& in) {
  const DataType dtype = in.dtype(in[0]);
  auto number = [&](double value) { return make_scalar(value, dtype); };
  Expr y = in[0], x = in[1], zero = number(0);
  Expr x_is_zero = equal(x, zero);
  Expr angle = call_op("atan", {divide(y, where(x_is_zero, ones_like(x), x))});
  Expr beyond = where(less(y, zero), subtract(angle, number(M_PI)), add(angle, number(M_PI)));
  Expr upright = where(less(y, zero), number(-M_PI / 2), where(greater(y, zero), number(M_PI / 2), zero));
  return {where(x_is_zero, upright, where(less(x, zero), beyond, angle))};
}

Values xdivy(Operation& in) {
  Expr is_zero = equal(in[0], zeros_like(in[0])), out = divide(in[0], in[1]);
  return {where(is_zero, zeros_like(out), out)};
}

Values approximate_equal(Operation& in) {
  return {less(call_op("abs", {subtract(in[0], in[1])}), like_first(in, in.number("tolerance", 1e-5)))};
}

Values erfc(Operation& in) { return {subtract(like_first(in, 1), call_op("erf", {in[0]}))}; }

/// `cond` of one dimension chooses rows, and otherwise elements.
Values select(Operation& in) {
  Expr cond = in[0];
  size_t own = in.rank(cond), rank = in.rank(in[1]);
  if (own == 1 && rank > 1) cond = expand_dims(cond, 1, static_cast<int>(rank) - 1);
  return {where(cond, in[1], in[2])};
}
Values select_v2(Operation& in) { return {where(in[0], in[1], in[2])}; }

Values sigmoid_of(Operation& in) { return {sigmoid(in[0])}; }

Values fake_quant(Operation& in) {
  const bool has_inputs = in.size() >= 3;
  double low = has_inputs ? in.real(1, "the minimum") : in.number("min", -6),
         high = has_inputs ? in.real(2, "the maximum") : in.number("max", 6);
  const double first = in.flag("narrow_range") ? 1 : 0,
               last = std::pow(2.0, static_cast<double>(in.integer("num_bits", 8))) - 1;
  if (!(high > low)) in.invalid("the range is empty");
  const auto scale = static_cast<float>((high - low) / (last - first));
  const double zero = std::clamp(std::round(first - low / scale), first, last);
  const double nudged_low = (first - zero) * scale, nudged_high = (last - zero) * scale;
  Expr steps =
      divide(subtract(clip(in[0], nudged_low, nudged_high), like_first(in, nudged_low)), like_first(in, scale));
  Expr rounded = call_op("floor", {add(steps, like_first(in, 0.5))});
  return {add(multiply(rounded, like_first(in, scale)), like_first(in, nudged_low))};
}

/// 2^exponent steps of the integers of a type.
Values invert(Operation& in) { return {call_op("bitwise_not", {in[0]})}; }

}  // namespace

Rows elementwise_rows() {
  return {
      {"Abs", unary("abs")},
      {"Acos", unary("acos")},
      {"Acosh", unary("acosh")},
      {"Add", binary("add")},
      {"AddN", add_n},
      {"AccumulateNV2", add_n},
      {"AddV2", binary("add")},
      {"ApproximateEqual", approximate_equal},
      {"Asin", unary("asin")},
      {"Asinh", unary("asinh")},
      {"Assert", nothing},
      {"Atan", unary("atan")},
      {"Atan2", atan2},
      {"Atanh", unary("atanh")},
      {"Bitcast", bitcast},
      {"BitwiseAnd", binary("bitwise_and")},
      {"BitwiseOr", binary("bitwise_or")},
      {"BitwiseXor", binary("bitwise_xor")},
      {"Cast", cast_to},
      {"Ceil", unary("ceil")},
      {"CheckNumerics", identity},
      {"ClipByValue", clip_by_value},
      {"Cos", unary("cos")},
      {"Cosh", unary("cosh")},
      {"Div", binary_by_type("divide", "trunc_divide")},
      {"DivNoNan", div_no_nan},
      {"Elu", elu},
      {"EnsureShape", identity},
      {"Equal", binary("equal")},
      {"Erf", unary("erf")},
      {"Erfc", erfc},
      {"Exp", unary("exp")},
      {"Expm1", expm1},
      {"FakeQuantWithMinMaxArgs", fake_quant},
      {"FakeQuantWithMinMaxVars", fake_quant},
      {"Floor", unary("floor")},
      {"FloorDiv", floor_div},
      {"FloorMod", floor_mod},
      {"Gelu", gelu},
      {"Greater", binary("greater")},
      {"GreaterEqual", binary("greater_equal")},
      {"HardSwish", hard_swish},
      {"Identity", identity},
      {"IdentityN", identities},
      {"Inv", reciprocal},
      {"Invert", invert},
      {"IsFinite", unary("isfinite")},
      {"IsInf", is_inf},
      {"IsNan", unary("isnan")},
      {"LeakyRelu", leaky_relu},
      {"LeftShift", binary("left_shift")},
      {"Less", binary("less")},
      {"LessEqual", binary("less_equal")},
      {"Log", unary("log")},
      {"Log1p", log1p},
      {"LogicalAnd", binary("logical_and")},
      {"LogicalNot", unary("logical_not")},
      {"LogicalOr", binary("logical_or")},
      {"Maximum", binary("maximum")},
      {"Minimum", binary("minimum")},
      {"Mod", binary("trunc_mod")},
      {"Mul", binary("multiply")},
      {"MulNoNan", mul_no_nan},
      {"Neg", unary("negative")},
      {"NextIteration", identity},
      {"NoOp", nothing},
      {"NotEqual", binary("not_equal")},
      {"Pow", power_of},
      {"PlaceholderWithDefault", identity},
      {"PRelu", prelu},
      {"PreventGradient", identity},
      {"Print", identity},
      {"PrintV2", nothing},
      {"RealDiv", binary("divide")},
      {"Reciprocal", reciprocal},
      {"Relu", unary("nn.relu")},
      {"Relu6", relu6},
      {"ReluN1To1", relu_n1_to_1},
      {"Relu0To1", relu_0_to_1},
      {"RightShift", binary("right_shift")},
      {"Rint", unary("round_to_even")},
      {"Round", unary("round_to_even")},
      {"Rsqrt", unary("rsqrt")},
      {"Select", select},
      {"SelectV2", select_v2},
      {"Selu", selu},
      {"Sigmoid", sigmoid_of},
      {"Sign", unary("sign")},
      {"Sin", unary("sin")},
      {"Sinh", unary("sinh")},
      {"Snapshot", identity},
      {"Softplus", softplus},
      {"Softsign", softsign},
      {"Sqrt", unary("sqrt")},
      {"Square", square},
      {"SquaredDifference", squared_difference},
      {"StopGradient", identity},
      {"Sub", binary("subtract")},
      {"Tan", unary("tan")},
      {"Tanh", unary("tanh")},
      {"TruncateDiv", binary_by_type("divide", "trunc_divide")},
      {"TruncateMod", binary("trunc_mod")},
      {"Xdivy", xdivy},
      {"Xlog1py", of_x_and([](Operation& in, const Expr& y) { return log(add(y, like_first(in, 1))); })},
      {"Xlogy", of_x_and([](Operation&, const Expr& y) { return log(y); })},
  };
}

}  // namespace tessera::tensorflow
