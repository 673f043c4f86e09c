// erf. In float32 a quotient of polynomials; in float64 a polynomial near 0, and further out 1 - erfc, where erfc is e^(-x^2)
// times something tame.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// 1 - erf(size) in float64 for size of 1 and more.
PrimExpr erfc_of(Steps& steps, const RealType& real, const PrimExpr& size) {
  double last = 6;  // from here on erf rounds to 1
  PrimExpr x = steps(make_select(size > real(last), real(last), size));
  PrimExpr s = steps(div(x - real(3.5), x + real(3.5)));
  PrimExpr tame = div(polynomial(s, real, coefficients::kErfc64), real(1) + x + x);
  return tame * exp_of(steps, real, steps(real(0) - x * x));
}

}  // namespace

PrimExpr erf_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  if (!real.is_double()) return ratio_of(steps, real, x, {coefficients::kErfTop32, coefficients::kErfBottom32, 4.0});
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr square = steps(x * x);
  PrimExpr near = x + x * polynomial(square, real, coefficients::kErf64);
  PrimExpr far = steps(real(1) - erfc_of(steps, real, size));
  return make_select(size < real(1), near, with_sign_of(real, x, far));
}

}  // namespace tessera::codegen
