// Hyperbolic functions and their inverses, from exp and log1p; odd ones are polynomials where that would cancel.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// |x| + 1, squares of it and the like neither lose the 1 nor overflow below this; above, log(2 |x|) is exact.
double large(const RealType& real) { return real.either(4096.0, 268435456.0); }

/// log(x) + log(2) for x beyond `large`.
PrimExpr log_of_twice(Steps& steps, const RealType& real, const PrimExpr& x) {
  return log_of(steps, real, x) + real(0.69314718055994530942);
}

}  // namespace

PrimExpr log1p_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  // What 1 + x rounds away is made good by the factor x / (u - 1).
  PrimExpr one = real(1), u = steps(one + x);
  PrimExpr usual = log_of(steps, real, u) * div(x, u - one);
  return make_select(logical_or(equal(u, one), equal(x, real.inf())), x, usual);
}

PrimExpr ratio_of(Steps& steps, const RealType& real, const PrimExpr& x, const Ratio& ratio) {
  auto within = [&](const PrimExpr& value, double limit) {
    PrimExpr above = steps(make_select(value < real(-limit), real(-limit), value));
    return steps(make_select(above > real(limit), real(limit), above));
  };
  PrimExpr inside = within(x, ratio.last), square = steps(inside * inside);
  PrimExpr top = polynomial(square, real, ratio.top), bottom = polynomial(square, real, ratio.bottom);
  return within(steps(div(inside * top, bottom)), 1);
}

PrimExpr tanh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  if (!real.is_double()) return ratio_of(steps, real, x, {coefficients::kTanhTop32, coefficients::kTanhBottom32, 9.1});
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr square = steps(x * x);
  PrimExpr near = x + x * square * polynomial(square, real, coefficients::kTanh64);
  PrimExpr far = steps(real(1) - div(real(2), exp_of(steps, real, steps(size + size)) + real(1)));
  return with_sign_of(real, x, make_select(size < real(0.625), near, far));  // -0 too
}

PrimExpr sinh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr square = steps(x * x);
  PrimExpr p = real.is_double() ? polynomial(square, real, coefficients::kSinh64)
                                : polynomial(square, real, coefficients::kSinh32);
  PrimExpr near = x + x * square * p;
  PrimExpr half = steps(exp_of(steps, real, size, 1));
  PrimExpr far = half - div(real(0.25), half);
  return make_select(size < real(1), near, with_sign_of(real, x, far));
}

PrimExpr cosh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr half = steps(exp_of(steps, real, steps(unary_intrin("tir.fabs", x)), 1));
  return half + div(real(0.25), half);
}

PrimExpr asinh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  // asinh(x) = log(x + sqrt(x^2 + 1)) = log1p(x + x^2 / (1 + sqrt(x^2 + 1)))
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr is_large = steps(size > real(large(real)));
  PrimExpr bounded = steps(make_select(is_large, real(1), size));
  PrimExpr square = steps(bounded * bounded);
  PrimExpr rest = steps(bounded + div(square, real(1) + unary_intrin("tir.sqrt", square + real(1))));
  PrimExpr usual = log1p_of(steps, real, rest);
  return with_sign_of(real, x, make_select(is_large, log_of_twice(steps, real, size), usual));
}

PrimExpr acosh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  // acosh(1 + t) = log1p(t + sqrt(2 t + t^2))
  PrimExpr is_large = steps(x > real(large(real)));
  PrimExpr t = steps(make_select(is_large, real(1), x - real(1)));
  PrimExpr rest = steps(t + unary_intrin("tir.sqrt", t + t + t * t));
  PrimExpr usual = make_select(is_large, log_of_twice(steps, real, x), log1p_of(steps, real, rest));
  return make_select(x < real(1), real.nan(), usual);
}

PrimExpr atanh_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr ratio = steps(div(size + size, real(1) - size));
  return with_sign_of(real, x, real(0.5) * log1p_of(steps, real, ratio));
}

}  // namespace tessera::codegen
