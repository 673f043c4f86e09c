// log, log2 and log10: x = 2^e * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// log(1 + f) = f + rest, and the exponent as a float.
struct Parts {
  PrimExpr f, rest, e;
};

Parts take_apart(Steps& steps, const RealType& real, const PrimExpr& x) {
  int64_t sqrt_half = real.either<int64_t>(0x3f3504f3, 0x3fe6a09e667f3bcd);
  int shift = real.mantissa_bits();
  PrimExpr least = real(real.either(1.17549435082228750797e-38, 2.2250738585072013831e-308));
  PrimExpr up = real(real.either(8388608.0, 4503599627370496.0));  // makes denormals normal
  PrimExpr is_tiny = steps(x < least);
  PrimExpr normal = steps(make_select(is_tiny, x * up, x));
  PrimExpr bits = steps(reinterpret(real.integer(), normal) - real.bits(sqrt_half));
  PrimExpr m = reinterpret(real.dtype, (bits & real.bits((int64_t(1) << shift) - 1)) + real.bits(sqrt_half));
  PrimExpr e = cast(real.dtype, bits >> real.bits(shift)) - make_select(is_tiny, real(shift), real(0));
  PrimExpr f = steps(m - real(1));
  PrimExpr half_square = steps(real(0.5) * f * f);
  if (!real.is_double())
    return {f, steps(f * f * f * polynomial(f, real, coefficients::kLog32) - half_square), steps(e)};
  PrimExpr s = steps(div(f, f + real(2)));
  PrimExpr square = steps(s * s);
  PrimExpr series = square * polynomial(square, real, coefficients::kLog64);
  return {f, steps(s * (half_square + series) - half_square), steps(e)};
}

/// `usual` for positive finite x; the answers at 0, below, at infinity and for NaN otherwise.
PrimExpr with_edges(const RealType& real, const PrimExpr& x, const PrimExpr& usual) {
  PrimExpr zero = real(0), inf = real.inf();
  PrimExpr edge = make_select(equal(x, zero), zero - inf, make_select(x < zero, real.nan(), x));
  return make_select(logical_and(x > zero, x < inf), usual, edge);
}

}  // namespace

PrimExpr log_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  auto [f, rest, e] = take_apart(steps, real, x);
  PrimExpr high = real(real.either(0.693359375, 0.69314718055829871446));
  PrimExpr low = real(real.either(-0.00021219444005469058277, 1.6465949582897081281e-12));
  return with_edges(real, x, e * high + (f + (rest + e * low)));
}

PrimExpr log2_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  auto [f, rest, e] = take_apart(steps, real, x);
  PrimExpr beyond_one = real(0.4426950408889634074);  // log2(e) - 1
  return with_edges(real, x, e + (f + (rest + (rest * beyond_one + f * beyond_one))));
}

PrimExpr log10_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  auto [f, rest, e] = take_apart(steps, real, x);
  // log10(e) and log10(2), each in two parts
  PrimExpr e_high = real(real.either(0.43408203125, 0.43429448190363473259));
  PrimExpr e_low = real(real.either(0.00021245065325182765113, -3.8290493799671432314e-13));
  PrimExpr two_high = real(real.either(0.30126953125, 0.30102999566406651866));
  PrimExpr two_low = real(real.either(-0.00023953558601880478626, -8.5323443170571065302e-14));
  PrimExpr small = (f + rest) * e_low + e * two_low;
  return with_edges(real, x, e * two_high + (f * e_high + (rest * e_high + small)));
}

}  // namespace tessera::codegen
