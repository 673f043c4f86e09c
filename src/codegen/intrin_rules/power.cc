// pow for float32: 2^(y * log2|x|), computed in float64 so that nothing is lost on the way; then the sign and the edges.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// log2 of a positive float64 that came from a float32, so never denormal.
PrimExpr short_log2(Steps& steps, const RealType& real, const PrimExpr& x) {
  constexpr int64_t sqrt_half = 0x3fe6a09e667f3bcd;
  PrimExpr bits = steps(reinterpret(real.integer(), x) - real.bits(sqrt_half));
  PrimExpr m = steps(reinterpret(real.dtype, (bits & real.bits((int64_t(1) << 52) - 1)) + real.bits(sqrt_half)));
  PrimExpr e = cast(real.dtype, bits >> real.bits(52));
  PrimExpr s = steps(div(m - real(1), m + real(1)));
  PrimExpr square = steps(s * s);
  PrimExpr log = s * (real(2) + square * polynomial(square, real, coefficients::kLog64Short));
  return steps(e + log * real(1.4426950408889634074));
}

/// 2^x, good for a float32 answer.
PrimExpr short_exp2(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr above = steps(make_select(x < real(-200), real(-200), x));
  PrimExpr bounded = steps(make_select(above > real(200), real(200), above));
  PrimExpr n = steps(floor(bounded + real(0.5)));
  PrimExpr r = steps(bounded - n);
  PrimExpr bits = (cast(real.integer(), n) + real.bits(1023)) << real.bits(52);
  return (real(1) + r * polynomial(r, real, coefficients::kExp2Short)) * reinterpret(real.dtype, bits);
}

}  // namespace

PrimExpr pow_of(Steps& steps, const RealType& real, const PrimExpr& x, const PrimExpr& y) {
  RealType wide{DataType::Float(64, real.dtype.lanes)};
  PrimExpr zero = real(0), one = real(1), inf = real.inf();
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  PrimExpr wide_size = steps(cast(wide.dtype, size));
  PrimExpr log = short_log2(steps, wide, wide_size);
  // at 0 and infinity the formula has no meaning, but the logarithm has a limit; a NaN stays
  PrimExpr limit = make_select(equal(size, zero), wide(0) - wide.inf(), wide_size);
  log = steps(make_select(logical_and(size > zero, size < inf), log, limit));
  PrimExpr power = steps(cast(real.dtype, short_exp2(steps, wide, cast(wide.dtype, y) * log)));

  PrimExpr is_whole = steps(equal(floor(y), y));
  PrimExpr half = steps(y * real(0.5));
  PrimExpr is_odd = logical_and(is_whole, not_equal(floor(half), half));
  PrimExpr sign_bits = reinterpret(real.integer(), x);
  PrimExpr is_negative = steps(sign_bits < real.bits(0));  // -0.0 too
  PrimExpr has_no_answer = logical_and(logical_and(x < zero, size < inf), logical_not(is_whole));
  PrimExpr is_one =
      logical_or(equal(y, zero),
                 logical_or(equal(x, one), logical_and(equal(size, one), equal(unary_intrin("tir.fabs", y), inf))));
  PrimExpr signed_power = make_select(logical_and(is_negative, is_odd), zero - power, power);
  return make_select(is_one, one, make_select(has_no_answer, real.nan(), signed_power));
}

}  // namespace tessera::codegen
