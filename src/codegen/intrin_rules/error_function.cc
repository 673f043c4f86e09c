// erf: a polynomial near 0; further out 1 - erfc, and erfc is e^(-x^2) times something tame.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// 1 - erf(size) for size of 1 and more.
PrimExpr erfc_of(Steps& steps, const RealType& real, const PrimExpr& size) {
  double last = real.either(4.0, 6.0);  // from here on erf rounds to 1
  PrimExpr x = steps(make_select(size > real(last), real(last), size));
  if (!real.is_double()) return exp_of(steps, real, steps(polynomial(x, real, coefficients::kLogErfc32)));
  PrimExpr s = steps(div(x - real(3.5), x + real(3.5)));
  PrimExpr tame = div(polynomial(s, real, coefficients::kErfc64), real(1) + x + x);
  return tame * exp_of(steps, real, steps(real(0) - x * x));
}

}  // namespace

PrimExpr erf_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr square = steps(x * x);
  PrimExpr p = real.is_double() ? polynomial(square, real, coefficients::kErf64)
                                : polynomial(square, real, coefficients::kErf32);
  PrimExpr near = x + x * p;
  PrimExpr far = steps(real(1) - erfc_of(steps, real, size));
  return make_select(size < real(1), near, with_sign_of(real, x, far));
}

}  // namespace tessera::codegen
