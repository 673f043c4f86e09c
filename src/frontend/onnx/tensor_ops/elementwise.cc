// Operators on single elements, broadcast to each other where there are several inputs.

#include "frontend/onnx/ml/texts.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/transform.h"
#include "relay/make.h"
#include "runtime/function/element.h"

#include <cmath>
#include <limits>

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

bool is_float(DataType dtype) { return dtype.code == DataType::kFloat || dtype.code == DataType::kBFloat; }

/// A number of the type of the first input.
Expr like(Operation& in, double value) { return make_scalar(value, in.dtype(in[0])); }

Converter unary(const char* op) {
  return [op](Operation& in) { return Values{call_op(op, {in[0]})}; };
}

/// Axis and broadcast attributes stood for what is broadcast before version 7.
Expr aligned(Operation& in, const Expr& rhs) {
  if (in.version() >= 7 || !in.has_attribute("axis")) return rhs;
  size_t rank = in.rank(in[0]), own = in.rank(rhs);
  int axis = in.axis(in.integer("axis"), rank);
  int missing = static_cast<int>(rank) - static_cast<int>(own) - axis;
  return missing > 0 ? expand_dims(rhs, static_cast<int>(own), missing) : rhs;
}

/// A constant of one element that is broadcast as a number, which kernels hold.
Expr as_number(Operation& in, const Expr& x, const Expr& other) {
  auto* constant = x.as<Constant>();
  if (!constant || constant->data.size() != 1 || other.as<Constant>() || in.rank(x) > in.rank(other)) return x;
  return constant->is_scalar() ? x : make_constant(constant->data.view({}, constant->data.dtype()));
}

Converter binary(const char* op) {
  return [op](Operation& in) {
    Expr lhs = in[0], rhs = aligned(in, in[1]);
    return Values{call_op(op, {as_number(in, lhs, rhs), as_number(in, rhs, lhs)})};
  };
}

/// Any number of inputs, from left to right.
Expr fold(const char* op, Operation& in) {
  Expr out = in[0];
  for (size_t i = 1; i < in.size(); ++i) out = call_op(op, {out, in[i]});
  return out;
}
Converter variadic(const char* op) {
  return [op](Operation& in) { return Values{fold(op, in)}; };
}
Values mean_of_inputs(Operation& in) { return {divide(fold("add", in), like(in, static_cast<double>(in.size())))}; }

Values identity(Operation& in) { return {in.value(0)}; }

// ---- activations ----------------------------------------------------------------------------------------------------

Expr sigmoid_of(const Expr& x) { return sigmoid(x); }

/// log(1 + exp(x)) without overflow.
Expr softplus_of(Operation& in, const Expr& x) {
  Expr zero = like(in, 0), one = like(in, 1);
  return add(maximum(x, zero), log(add(one, exp(negative(call_op("abs", {x}))))));
}

/// alpha * (exp(x / beta) - 1) below zero, scale * x above.
Expr elu_of(Operation& in, double alpha, double beta, double scale) {
  Expr x = in[0], zero = like(in, 0);
  Expr low = multiply(like(in, alpha), subtract(exp(divide(minimum(x, zero), like(in, beta))), like(in, 1)));
  return add(multiply(like(in, scale), maximum(x, zero)), low);
}
Values elu(Operation& in) { return {elu_of(in, in.number("alpha", 1), 1, 1)}; }
Values celu(Operation& in) {
  double alpha = in.number("alpha", 1);
  return {elu_of(in, alpha, alpha, 1)};
}
Values selu(Operation& in) {
  double alpha = in.number("alpha", in.version() >= 6 ? 1.67326319217681884765625 : 1.6732);
  double gamma = in.number("gamma", in.version() >= 6 ? 1.05070102214813232421875 : 1.0507);
  return {elu_of(in, alpha * gamma, 1, gamma)};
}

Values gelu(Operation& in) {
  Expr x = in[0], half = multiply(like(in, 0.5), x);
  if (in.text("approximate", "none") == "tanh") {
    Expr cube = multiply(x, multiply(x, x));
    Expr inner = multiply(like(in, std::sqrt(2 / M_PI)), add(x, multiply(like(in, 0.044715), cube)));
    return {multiply(half, add(like(in, 1), tanh(inner)))};
  }
  return {multiply(half, add(like(in, 1), call_op("erf", {multiply(x, like(in, std::sqrt(0.5)))})))};
}

Expr hard_sigmoid_of(Operation& in, double alpha, double beta) {
  return clip(add(multiply(in[0], like(in, alpha)), like(in, beta)), 0, 1);
}
Values hard_sigmoid(Operation& in) { return {hard_sigmoid_of(in, in.number("alpha", 0.2), in.number("beta", 0.5))}; }
Values hard_swish(Operation& in) { return {multiply(in[0], hard_sigmoid_of(in, 1.0 / 6, 0.5))}; }
Values leaky_relu(Operation& in) {
  double alpha = in.number("alpha", 0.01);
  return {call_op("nn.leaky_relu", {in[0]}, make_attrs<LeakyReluAttrs>([&](auto& attrs) { attrs.alpha = alpha; }))};
}
Values mish(Operation& in) { return {multiply(in[0], tanh(softplus_of(in, in[0])))}; }
Values prelu(Operation& in) {
  Expr x = in[0], slope = in[1];
  if (in.version() < 7 && in.rank(slope) == 1 && in.rank(x) > 1)  // one for each channel
    slope = expand_dims(slope, 1, static_cast<int>(in.rank(x)) - 2);
  return {where(less(x, like(in, 0)), multiply(x, slope), x)};
}
Values relu(Operation& in) {
  if (is_float(in.dtype(in[0]))) return {call_op("nn.relu", {in[0]})};
  return {maximum(in[0], like(in, 0))};
}
Values shrink(Operation& in) {
  double bias = in.number("bias", 0), lambda = in.number("lambd", 0.5);
  Expr x = in[0];
  Expr inner = where(greater(x, like(in, lambda)), subtract(x, like(in, bias)), like(in, 0));
  return {where(less(x, like(in, -lambda)), add(x, like(in, bias)), inner)};
}
Values softplus(Operation& in) { return {softplus_of(in, in[0])}; }
Values softsign(Operation& in) { return {divide(in[0], add(like(in, 1), call_op("abs", {in[0]})))}; }
Values swish(Operation& in) {
  double alpha = in.number("alpha", 1);
  return {multiply(in[0], sigmoid_of(alpha == 1 ? in[0] : multiply(in[0], like(in, alpha))))};
}
Values thresholded_relu(Operation& in) {
  return {where(greater(in[0], like(in, in.number("alpha", 1))), in[0], like(in, 0))};
}

// ---- numbers --------------------------------------------------------------------------------------------------------

/// The limits are attributes until version 11, inputs since.
Values clipped(Operation& in) {
  Expr out = in[0];
  if (in.version() < 11) {
    if (in.has_attribute("min")) out = maximum(out, like(in, in.number("min", 0)));
    if (in.has_attribute("max")) out = minimum(out, like(in, in.number("max", 0)));
    return {out};
  }
  if (in.has(1)) out = maximum(out, in[1]);
  if (in.has(2)) out = minimum(out, in[2]);
  return {out};
}

Expr cast_to(Operation& in, const Expr& x, DataType to) {
  if (in.dtype(x) == to) return x;
  if (to == DataType::Bool()) return call_op("not_equal", {x, make_scalar(0, in.dtype(x))});
  return cast(x, to);
}
/// Towards the even number when halfway.
Values rounded(Operation& in) {
  Expr x = in[0], two = like(in, 2);
  Expr nearest = call_op("round", {x}), even = multiply(two, call_op("round", {divide(x, two)}));
  Expr fraction = call_op("abs", {subtract(x, call_op("trunc", {x}))});
  return {where(equal(fraction, like(in, 0.5)), even, nearest)};
}

Values is_inf(Operation& in) {
  bool up = in.integer("detect_positive", 1) != 0, down = in.integer("detect_negative", 1) != 0;
  double infinity = std::numeric_limits<double>::infinity();
  if (up && down) return {call_op("isinf", {in[0]})};
  if (up) return {equal(in[0], like(in, infinity))};
  if (down) return {equal(in[0], like(in, -infinity))};
  return {call_op("logical_and", {call_op("isinf", {in[0]}), make_scalar(0, DataType::Bool())})};
}

Values modulo(Operation& in) {
  bool truncates = in.integer("fmod", 0) != 0, floats = is_float(in.dtype(in[0]));
  if (truncates || !floats) return {call_op(truncates ? "trunc_mod" : "floor_mod", {in[0], in[1]})};
  // The remainder takes the sign of the divisor, also where that is infinite.
  Expr rest = call_op("trunc_mod", {in[0], in[1]}), zero = like(in, 0);
  Expr differs = call_op("not_equal", {less(rest, zero), less(in[1], zero)});
  Expr moves = call_op("logical_and", {call_op("not_equal", {rest, zero}), differs});
  return {where(moves, add(rest, in[1]), rest)};
}

/// The result has the type of the base.
Values powered(Operation& in) {
  DataType base = in.dtype(in[0]), exponent = in.dtype(in[1]);
  if (base == exponent && is_float(base)) return {power(in[0], as_number(in, aligned(in, in[1]), in[0]))};
  DataType work = is_float(base) ? base : DataType::Float(64);
  Expr out = power(cast_to(in, in[0], work), cast_to(in, as_number(in, aligned(in, in[1]), in[0]), work));
  return {cast_to(in, is_float(base) ? out : call_op("round", {out}), base)};
}

Values bit_shift(Operation& in) {
  std::string direction = in.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") in.invalid("the direction is LEFT or RIGHT");
  bool left = direction == "LEFT";
  DataType dtype = in.dtype(in[0]);
  Expr x = in[0], by = in[1], zero = like(in, 0), width = like(in, dtype.bits);
  // By its width or more, everything is shifted out; so it is by a negative number.
  Expr is_within = less(by, width), out_of_range = zero;
  Expr amount = by;
  if (dtype.code == DataType::kInt) {
    is_within = call_op("logical_and", {is_within, call_op("greater_equal", {by, zero})});
    if (!left) out_of_range = where(less(x, zero), like(in, -1), zero);
  }
  amount = where(is_within, by, zero);
  return {where(is_within, call_op(left ? "left_shift" : "right_shift", {x, amount}), out_of_range)};
}

Values reciprocal(Operation& in) { return {divide(like(in, 1), in[0])}; }

Values chosen(Operation& in) { return {where(in[0], in[1], in[2])}; }

/// Numbers, or strings.
Values same(Operation& in) {
  return in.is_texts(0) ? Values{equal_texts(in)} : Values{call_op("equal", {in[0], aligned(in, in[1])})};
}

}  // namespace

Rows elementwise_rows() {
  return {
      {"Abs", 1, unary("abs")},
      {"Acos", 7, unary("acos")},
      {"Acosh", 9, unary("acosh")},
      {"Add", 1, binary("add")},
      {"And", 1, binary("logical_and")},
      {"Asin", 7, unary("asin")},
      {"Asinh", 9, unary("asinh")},
      {"Atan", 7, unary("atan")},
      {"Atanh", 9, unary("atanh")},
      {"BitShift", 11, bit_shift},
      {"BitwiseAnd", 18, binary("bitwise_and")},
      {"BitwiseNot", 18, unary("bitwise_not")},
      {"BitwiseOr", 18, binary("bitwise_or")},
      {"BitwiseXor", 18, binary("bitwise_xor")},
      {"Ceil", 1, unary("ceil")},
      {"Celu", 12, celu},
      {"Clip", 1, clipped},
      {"Cos", 7, unary("cos")},
      {"Cosh", 9, unary("cosh")},
      {"Div", 1, binary("divide")},
      {"Elu", 1, elu},
      {"Equal", 1, same},
      {"Erf", 9, unary("erf")},
      {"Exp", 1, unary("exp")},
      {"Floor", 1, unary("floor")},
      {"Gelu", 20, gelu},
      {"Gelu", 1, gelu, kMicrosoftDomain},
      {"Greater", 1, binary("greater")},
      {"GreaterOrEqual", 12, binary("greater_equal")},
      {"HardSigmoid", 1, hard_sigmoid},
      {"HardSwish", 14, hard_swish},
      {"Identity", 1, identity},
      {"IsInf", 10, is_inf},
      {"IsNaN", 9, unary("isnan")},
      {"LeakyRelu", 1, leaky_relu},
      {"Less", 1, binary("less")},
      {"LessOrEqual", 12, binary("less_equal")},
      {"Log", 1, unary("log")},
      {"Max", 1, variadic("maximum")},
      {"Mean", 1, mean_of_inputs},
      {"Min", 1, variadic("minimum")},
      {"Mish", 18, mish},
      {"Mod", 10, modulo},
      {"Mul", 1, binary("multiply")},
      {"Neg", 1, unary("negative")},
      {"Not", 1, unary("logical_not")},
      {"Or", 1, binary("logical_or")},
      {"PRelu", 1, prelu},
      {"Pow", 1, powered},
      {"Reciprocal", 1, reciprocal},
      {"Relu", 1, relu},
      {"Round", 11, rounded},
      {"Selu", 1, selu},
      {"Shrink", 9, shrink},
      {"Sigmoid", 1, unary("sigmoid")},
      {"Sign", 9, unary("sign")},
      {"Sin", 7, unary("sin")},
      {"Sinh", 9, unary("sinh")},
      {"Softplus", 1, softplus},
      {"Softsign", 1, softsign},
      {"Sqrt", 1, unary("sqrt")},
      {"Sub", 1, binary("subtract")},
      {"Sum", 1, variadic("add")},
      {"Swish", 24, swish},
      {"Tan", 7, unary("tan")},
      {"Tanh", 1, unary("tanh")},
      {"ThresholdedRelu", 10, thresholded_relu},
      {"Where", 9, chosen},
      {"Xor", 1, binary("logical_xor")},
  };
}

}  // namespace tessera::onnx
