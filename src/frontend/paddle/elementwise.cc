// What is computed element by element.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr scalar_like(const LayerNode& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

// ---- of one tensor --------------------------------------------------------------------------------------------------

LayerConverter unary(const char* op) {
  return [op](LayerNode& in) { return in.results({{"Out", {call_op(op, {in.slot("X")})}}}); };
}
LayerConverter from_onnx(const char* op) {
  return [op](LayerNode& in) { return in.results({{"Out", {apply(in, op, {in.slot("X")})}}}); };
}
/// What `make` gives of X.
LayerConverter computed(Expr (*make)(const LayerNode& in, const Expr& x)) {
  return [make](LayerNode& in) { return in.results({{"Out", {make(in, in.slot("X"))}}}); };
}

Expr same(const LayerNode&, const Expr& x) { return x; }
Expr square(const LayerNode&, const Expr& x) { return multiply(x, x); }
Expr reciprocal(const LayerNode& in, const Expr& x) { return divide(scalar_like(in, x, 1), x); }
Expr relu(const LayerNode& in, const Expr& x) { return maximum(x, scalar_like(in, x, 0)); }
Expr relu6(const LayerNode& in, const Expr& x) { return clip(x, 0, in.number("threshold", 6)); }
/// log(1 + x) and exp(x) - 1 of small x without what rounding 1 + x loses.
Expr log1p(const LayerNode& in, const Expr& x) {
  Expr one = scalar_like(in, x, 1), sum = add(x, one), rest = subtract(sum, one);
  return where(equal(rest, scalar_like(in, x, 0)), x, divide(multiply(log(sum), x), rest));
}
Expr expm1(const LayerNode& in, const Expr& x) {
  Expr half = multiply(x, scalar_like(in, x, 0.5));
  return multiply(multiply(scalar_like(in, x, 2), exp(half)), call_op("sinh", {half}));
}
Expr softplus_of(const LayerNode& in, const Expr& x) { return typed(apply(in, "Softplus", {x})); }
Expr log_sigmoid(const LayerNode& in, const Expr& x) { return negative(softplus_of(in, typed(negative(x)))); }
/// Linear above the threshold, where the exponential would overflow.
Expr softplus(const LayerNode& in, const Expr& x) {
  Expr beta = scalar_like(in, x, in.number("beta", 1)), scaled = typed(multiply(x, beta));
  Expr is_linear = greater(scaled, scalar_like(in, x, in.number("threshold", 20)));
  return where(is_linear, x, divide(softplus_of(in, scaled), beta));
}
Expr mish(const LayerNode& in, const Expr& x) {
  Expr is_linear = greater(x, scalar_like(in, x, in.number("threshold", 20)));
  return multiply(x, tanh(where(is_linear, x, softplus_of(in, x))));
}
Expr swish(const LayerNode& in, const Expr& x) {
  return multiply(x, sigmoid(multiply(x, scalar_like(in, x, in.number("beta", 1)))));
}
Expr gelu(const LayerNode& in, const Expr& x) {
  return apply(in, "Gelu", {x}, {{"approximate", in.flag("approximate") ? "tanh" : "none"}});
}
Expr elu(const LayerNode& in, const Expr& x) { return apply(in, "Elu", {x}, {{"alpha", in.number("alpha", 1)}}); }
Expr celu(const LayerNode& in, const Expr& x) { return apply(in, "Celu", {x}, {{"alpha", in.number("alpha", 1)}}); }
Expr selu(const LayerNode& in, const Expr& x) {
  return apply(in, "Selu", {x},
               {{"alpha", in.number("alpha", 1.6732632423543772)}, {"gamma", in.number("scale", 1.0507009873554805)}});
}
Expr leaky_relu(const LayerNode& in, const Expr& x) {
  return apply(in, "LeakyRelu", {x}, {{"alpha", in.number("alpha", 0.02)}});
}
Expr hard_sigmoid(const LayerNode& in, const Expr& x) {
  Expr line = multiply(x, scalar_like(in, x, in.number("slope", 1.0 / 6)));
  return clip(add(line, scalar_like(in, x, in.number("offset", 0.5))), 0, 1);
}
Expr hard_swish(const LayerNode& in, const Expr& x) {
  Expr gate = clip(add(x, scalar_like(in, x, in.number("offset", 3))), 0, in.number("threshold", 6));
  return divide(multiply(x, gate), scalar_like(in, x, in.number("scale", 6)));
}
Expr hard_shrink(const LayerNode& in, const Expr& x) {
  Expr size = call_op("abs", {x}), zero = scalar_like(in, x, 0);
  return where(greater(size, scalar_like(in, x, in.number("threshold", 0.5))), x, zero);
}
Expr soft_shrink(const LayerNode& in, const Expr& x) {
  const double width = in.number("lambda", in.number("threshold", 0.5));
  return apply(in, "Shrink", {x}, {{"bias", width}, {"lambd", width}});
}
Expr bounded_relu(const LayerNode& in, const Expr& x) { return clip(x, in.number("t_min", 0), in.number("t_max", 24)); }
Expr thresholded_relu(const LayerNode& in, const Expr& x) {
  Expr over = greater(x, scalar_like(in, x, in.number("threshold", 1)));
  return where(over, x, scalar_like(in, x, in.number("value", 0)));
}
Expr rounded(const LayerNode& in, const Expr& x) {
  if (in.integer("decimals", 0)) in.unsupported("rounding to decimals");
  return round_to_even(x);
}
Expr power_of(const LayerNode& in, const Expr& x) {
  return power(x, number_of(in, "factor", 1, in.dtype(x), {"FactorTensor"}));
}
Expr scaled(const LayerNode& in, const Expr& x) {
  const DataType dtype = in.dtype(x);
  Expr by = number_of(in, "scale", 1, dtype, {"ScaleTensor"}), bias = number_of(in, "bias", 0, dtype, {"BiasTensor"});
  return in.flag("bias_after_scale", true) ? add(multiply(x, by), bias) : multiply(add(x, bias), by);
}
Expr clipped(const LayerNode& in, const Expr& x) {
  const DataType dtype = in.dtype(x);
  Expr low = number_of(in, "min", -INFINITY, dtype, {"Min"}), high = number_of(in, "max", INFINITY, dtype, {"Max"});
  return minimum(maximum(x, low), high);
}
Expr converted(const LayerNode& in, const Expr& x) {
  std::optional<DataType> dtype = type_in(in, "out_dtype");
  if (!dtype) in.invalid("it says no element type");
  return cast_if_needed(in, x, *dtype);
}
Expr incremented(const LayerNode& in, const Expr& x) { return add(x, scalar_like(in, x, in.number("step", 1))); }

/// Whole numbers are finite.
LayerConverter classified(const char* op, bool of_integers) {
  return [=](LayerNode& in) {
    Expr x = in.slot("X");
    if (is_float(in.dtype(x))) return in.results({{"Out", {call_op(op, {x})}}});
    Expr truth = cast(of_integers ? ones_like(x) : zeros_like(x), DataType::Bool());
    return in.results({{"Out", {truth}}});
  };
}

/// One slope for all, for each channel or for each element.
Exprs prelu(LayerNode& in) {
  Expr x = in.slot("X"), slope = in.slot("Alpha");
  const std::string mode = in.text("mode", "all");
  const auto rank = static_cast<int>(in.rank(x));
  if (mode == "all") slope = reshape_to(slope, {});
  else if (mode == "channel") {
    slope = reshape_to(slope, {-1});
    if (!has_channels_last(in) && rank > 2) slope = expand_dims(slope, 1, rank - 2);
  } else if (mode != "element") {
    in.unsupported("the mode " + mode);
  }
  Expr zero = scalar_like(in, x, 0);
  return in.results({{"Out", {add(maximum(x, zero), multiply(slope, minimum(x, zero)))}}});
}

/// Nothing is left out of a program that is used. "downgrade_in_infer" scales what remains when training.
Exprs dropout(LayerNode& in) {
  Expr x = in.slot("X");
  if (in.text("dropout_implementation", "downgrade_in_infer") != "downgrade_in_infer")
    return in.results({{"Out", {x}}});
  const DataType dtype = in.dtype(x);
  Expr rest = subtract(make_scalar(1, dtype), number_of(in, "dropout_prob", 0.5, dtype));
  return in.results({{"Out", {multiply(x, rest)}}});
}

// ---- of two tensors -------------------------------------------------------------------------------------------------

/// X and Y, whose dimensions are those of X from `axis` on; -1 aligns their last ones.
std::pair<Expr, Expr> operands(const LayerNode& in) {
  Expr x = in.slot("X"), y = in.slot("Y");
  const int64_t axis = in.integer("axis", -1),
                more = static_cast<int64_t>(in.rank(x)) - static_cast<int64_t>(in.rank(y));
  if (axis >= 0 && more > axis) y = typed(expand_dims(y, static_cast<int>(in.rank(y)), static_cast<int>(more - axis)));
  return {x, y};
}
LayerConverter binary(const char* op) {
  return [op](LayerNode& in) {
    auto [x, y] = operands(in);
    return in.results({{"Out", {call_op(op, {x, y})}}});
  };
}
/// NaN where either is NaN, as Paddle has it.
LayerConverter extreme(const char* op) {
  return [op](LayerNode& in) {
    auto [x, y] = operands(in);
    return in.results({{"Out", {apply(in, op, {x, y})}}});
  };
}
LayerConverter logical(const char* op) {
  return [op](LayerNode& in) {
    auto truth = [&](const Expr& x) { return cast_if_needed(in, x, DataType::Bool()); };
    auto [x, y] = operands(in);
    return in.results({{"Out", {call_op(op, {truth(x), truth(y)})}}});
  };
}
Expr logical_not(const LayerNode& in, const Expr& x) {
  return call_op("logical_not", {cast_if_needed(in, x, DataType::Bool())});
}
Exprs added_up(LayerNode& in) {
  Exprs all = in.slots("X");
  if (all.empty()) in.invalid("it has no inputs");
  Expr out = all[0];
  for (size_t i = 1; i < all.size(); ++i) out = add(out, all[i]);
  return in.results({{"Out", {out}}});
}
Exprs chosen(LayerNode& in) { return in.results({{"Out", {where(in.slot("Condition"), in.slot("X"), in.slot("Y"))}}}); }

}  // namespace

LayerRows elementwise_rows() {
  return {
      {"abs", unary("abs")},
      {"acos", unary("acos")},
      {"acosh", unary("acosh")},
      {"asin", unary("asin")},
      {"asinh", unary("asinh")},
      {"assign", computed(same)},
      {"atan", unary("atan")},
      {"atanh", unary("atanh")},
      {"bitwise_and", binary("bitwise_and")},
      {"bitwise_not", unary("bitwise_not")},
      {"bitwise_or", binary("bitwise_or")},
      {"bitwise_xor", binary("bitwise_xor")},
      {"brelu", computed(bounded_relu)},
      {"cast", computed(converted)},
      {"ceil", unary("ceil")},
      {"celu", computed(celu)},
      {"clip", computed(clipped)},
      {"cos", unary("cos")},
      {"cosh", unary("cosh")},
      {"dropout", dropout},
      {"elementwise_add", binary("add")},
      {"elementwise_div", binary("divide")},
      {"elementwise_floordiv", binary("floor_divide")},
      {"elementwise_max", extreme("Max")},
      {"elementwise_min", extreme("Min")},
      {"elementwise_mod", binary("floor_mod")},
      {"elementwise_mul", binary("multiply")},
      {"elementwise_pow", binary("power")},
      {"elementwise_prod", binary("multiply")},
      {"elementwise_sub", binary("subtract")},
      {"elu", computed(elu)},
      {"equal", binary("equal")},
      {"erf", unary("erf")},
      {"exp", unary("exp")},
      {"expm1", computed(expm1)},
      {"floor", unary("floor")},
      {"floor_mod", binary("floor_mod")},
      {"gelu", computed(gelu)},
      {"greater_equal", binary("greater_equal")},
      {"greater_than", binary("greater")},
      {"hard_shrink", computed(hard_shrink)},
      {"hard_sigmoid", computed(hard_sigmoid)},
      {"hard_swish", computed(hard_swish)},
      {"increment", computed(incremented)},
      {"isfinite_v2", classified("isfinite", true)},
      {"isinf_v2", classified("isinf", false)},
      {"isnan_v2", classified("isnan", false)},
      {"leaky_relu", computed(leaky_relu)},
      {"less_equal", binary("less_equal")},
      {"less_than", binary("less")},
      {"log", unary("log")},
      {"log10", unary("log10")},
      {"log1p", computed(log1p)},
      {"log2", unary("log2")},
      {"logical_and", logical("logical_and")},
      {"logical_not", computed(logical_not)},
      {"logical_or", logical("logical_or")},
      {"logical_xor", logical("logical_xor")},
      {"logsigmoid", computed(log_sigmoid)},
      {"mish", computed(mish)},
      {"not_equal", binary("not_equal")},
      {"pow", computed(power_of)},
      {"prelu", prelu},
      {"reciprocal", computed(reciprocal)},
      {"relu", computed(relu)},
      {"relu6", computed(relu6)},
      {"round", computed(rounded)},
      {"rsqrt", unary("rsqrt")},
      {"scale", computed(scaled)},
      {"selu", computed(selu)},
      {"sigmoid", unary("sigmoid")},
      {"sign", unary("sign")},
      {"silu", computed(swish)},
      {"sin", unary("sin")},
      {"sinh", unary("sinh")},
      {"softplus", computed(softplus)},
      {"softshrink", computed(soft_shrink)},
      {"softsign", from_onnx("Softsign")},
      {"sqrt", unary("sqrt")},
      {"square", computed(square)},
      {"sum", added_up},
      {"swish", computed(swish)},
      {"tan", unary("tan")},
      {"tanh", unary("tanh")},
      {"thresholded_relu", computed(thresholded_relu)},
      {"trunc", unary("trunc")},
      {"where", chosen},
  };
}

}  // namespace tessera::paddle
