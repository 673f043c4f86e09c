// Gradients of operators that work element by element.

#include <cmath>
#include <numbers>

#include "op/gradient/gradient.h"
#include "op/records.h"
#include "relay/attrs/transform.h"

namespace tessera::op {
namespace {

using relay::Call;
using relay::call_op;
using relay::collapse_sum_like;
using relay::divide;
using relay::exp;
using relay::multiply;
using relay::negative;
using relay::ones_like;
using relay::sqrt;
using relay::subtract;
using relay::where;
using relay::zeros_like;

Expr x(const Call* call) { return call->args[0]; }
Expr y(const Call* call) { return Expr(call); }
Expr square(const Expr& e) { return multiply(e, e); }
Expr one(const Call* call) { return scalar_like(call, 0, 1); }
Expr scaled(const Call* call, double factor, const Expr& e) { return multiply(scalar_like(call, 0, factor), e); }

Exprs exp_gradient(const Call* call, const Expr& grad) { return {multiply(grad, y(call))}; }
Exprs tanh_gradient(const Call* call, const Expr& grad) {
  return {multiply(grad, subtract(one(call), square(y(call))))};
}
Exprs erf_gradient(const Call* call, const Expr& grad) {
  Expr bell = exp(negative(square(x(call))));
  return {multiply(grad, scaled(call, 2 * std::numbers::inv_sqrtpi, bell))};
}

Exprs unchanged(const Call*, const Expr& grad) { return {grad}; }

/// Both operands' gradients, each summed to the operand's shape.
Exprs collapsed(const Call* call, const Expr& lhs, const Expr& rhs) {
  return {collapse_sum_like(lhs, call->args[0]), collapse_sum_like(rhs, call->args[1])};
}

/// The gradient goes to the operand that was chosen, to the left one among equals.
Exprs chosen(const Call* call, const Expr& grad, const Expr& is_left) {
  Expr zero = zeros_like(grad);
  return collapsed(call, where(is_left, grad, zero), where(is_left, zero, grad));
}

/// lhs - quotient * rhs, where the quotient is a step function.
Exprs remainder(const Call* call, const Expr& grad, const char* quotient) {
  Expr steps = call_op(quotient, {call->args[0], call->args[1]});
  return collapsed(call, grad, negative(multiply(grad, steps)));
}

Exprs power_gradient(const Call* call, const Expr& grad) {
  Expr base = call->args[0], exponent = call->args[1], zero = scalar_like(call, 0, 0);
  Expr lower = relay::power(base, subtract(exponent, one(call)));
  // log(0) times 0^b is 0 where b > 0, which the product would make a NaN
  Expr safe = where(relay::greater(base, zero), base, ones_like(base));
  return collapsed(call, multiply(grad, multiply(exponent, lower)),
                   multiply(grad, multiply(y(call), relay::log(safe))));
}

Exprs divide_gradient(const Call* call, const Expr& grad) {
  Expr lhs = call->args[0], rhs = call->args[1];
  return collapsed(call, divide(grad, rhs), negative(divide(multiply(grad, lhs), square(rhs))));
}

Exprs clip_gradient(const Call* call, const Expr& grad) {
  auto* attrs = call->attrs_as<relay::ClipAttrs>();
  Expr above = call_op("greater_equal", {x(call), scalar_like(call, 0, attrs->a_min)});
  Expr below = call_op("less_equal", {x(call), scalar_like(call, 0, attrs->a_max)});
  return {where(call_op("logical_and", {above, below}), grad, zeros_like(grad))};
}

/// 0 below -3, 1 above 3, (2x + 3) / 6 between.
Exprs hardswish_gradient(const Call* call, const Expr& grad) {
  Expr slope = scaled(call, 1.0 / 6, relay::add(scaled(call, 2, x(call)), scalar_like(call, 0, 3)));
  Expr low = relay::less(x(call), scalar_like(call, 0, -3)), high = relay::greater(x(call), scalar_like(call, 0, 3));
  slope = where(low, zeros_like(slope), where(high, ones_like(slope), slope));
  return {multiply(grad, slope)};
}

}  // namespace

static void elementwise_gradients() {
  set_gradients({
      {"log", [](const Call* c, const Expr& g) { return Exprs{divide(g, x(c))}; }},
      {"log2", [](const Call* c, const Expr& g) { return Exprs{divide(g, scaled(c, std::numbers::ln2, x(c)))}; }},
      {"log10", [](const Call* c, const Expr& g) { return Exprs{divide(g, scaled(c, std::numbers::ln10, x(c)))}; }},
      {"cos", [](const Call* c, const Expr& g) { return Exprs{negative(multiply(g, call_op("sin", {x(c)})))}; }},
      {"cosh", [](const Call* c, const Expr& g) { return Exprs{multiply(g, call_op("sinh", {x(c)}))}; }},
      {"sin", [](const Call* c, const Expr& g) { return Exprs{multiply(g, call_op("cos", {x(c)}))}; }},
      {"sinh", [](const Call* c, const Expr& g) { return Exprs{multiply(g, call_op("cosh", {x(c)}))}; }},
      {"tan", [](const Call* c, const Expr& g) { return Exprs{divide(g, square(call_op("cos", {x(c)})))}; }},
      {"acos",
       [](const Call* c, const Expr& g) { return Exprs{negative(divide(g, sqrt(subtract(one(c), square(x(c))))))}; }},
      {"acosh", [](const Call* c, const Expr& g) { return Exprs{divide(g, sqrt(subtract(square(x(c)), one(c))))}; }},
      {"asin", [](const Call* c, const Expr& g) { return Exprs{divide(g, sqrt(subtract(one(c), square(x(c)))))}; }},
      {"asinh", [](const Call* c, const Expr& g) { return Exprs{divide(g, sqrt(relay::add(square(x(c)), one(c))))}; }},
      {"atan", [](const Call* c, const Expr& g) { return Exprs{divide(g, relay::add(square(x(c)), one(c)))}; }},
      {"atanh", [](const Call* c, const Expr& g) { return Exprs{divide(g, subtract(one(c), square(x(c))))}; }},
      {"exp", exp_gradient},
      {"fast_exp", exp_gradient},
      {"erf", erf_gradient},
      {"fast_erf", erf_gradient},
      {"tanh", tanh_gradient},
      {"fast_tanh", tanh_gradient},
      {"sqrt", [](const Call* c, const Expr& g) { return Exprs{divide(g, scaled(c, 2, y(c)))}; }},
      {"rsqrt",
       [](const Call* c, const Expr& g) { return Exprs{multiply(g, scaled(c, -0.5, multiply(y(c), square(y(c)))))}; }},
      {"sigmoid",
       [](const Call* c, const Expr& g) { return Exprs{multiply(g, multiply(y(c), subtract(one(c), y(c))))}; }},
      {"abs", [](const Call* c, const Expr& g) { return Exprs{multiply(g, call_op("sign", {x(c)}))}; }},
      {"negative", [](const Call*, const Expr& g) { return Exprs{negative(g)}; }},
      {"copy", unchanged},
      {"annotation.stop_fusion", unchanged},
      {"annotation.checkpoint", unchanged},
      {"clip", clip_gradient},
      {"hardswish", hardswish_gradient},
      {"cast", [](const Call* c, const Expr& g) { return Exprs{call_op("cast_like", {g, x(c)})}; }},
      {"cast_like",
       [](const Call* c, const Expr& g) { return Exprs{call_op("cast_like", {g, x(c)}), zeros_like(c->args[1])}; }},
      {"add", [](const Call* c, const Expr& g) { return collapsed(c, g, g); }},
      {"subtract", [](const Call* c, const Expr& g) { return collapsed(c, g, negative(g)); }},
      {"multiply",
       [](const Call* c, const Expr& g) { return collapsed(c, multiply(g, c->args[1]), multiply(g, c->args[0])); }},
      {"divide", divide_gradient},
      {"power", power_gradient},
      {"maximum",
       [](const Call* c, const Expr& g) { return chosen(c, g, call_op("greater_equal", {c->args[0], c->args[1]})); }},
      {"minimum",
       [](const Call* c, const Expr& g) { return chosen(c, g, call_op("less_equal", {c->args[0], c->args[1]})); }},
      {"mod", [](const Call* c, const Expr& g) { return remainder(c, g, "trunc_divide"); }},
      {"trunc_mod", [](const Call* c, const Expr& g) { return remainder(c, g, "trunc_divide"); }},
      {"floor_mod", [](const Call* c, const Expr& g) { return remainder(c, g, "floor_divide"); }},
  });
  for (const char* name :
       {"floor",       "ceil",        "trunc",         "round",        "round_to_even", "sign",        "zeros_like",
        "ones_like",   "isnan",       "isfinite",      "isinf",        "equal",         "not_equal",   "less",
        "less_equal",  "greater",     "greater_equal", "floor_divide", "trunc_divide",  "logical_and", "logical_or",
        "logical_xor", "logical_not", "bitwise_and",   "bitwise_or",   "bitwise_xor",   "bitwise_not", "left_shift",
        "right_shift", "shape_of",    "ndarray_size"})
    set_gradients({{name, zero_gradients}});
}

[[gnu::init_priority(kFamilies)]] static const OpFamily elementwise_gradient_family{elementwise_gradients,
                                                                                    FillOrder::MoreSlots};

}  // namespace tessera::op
