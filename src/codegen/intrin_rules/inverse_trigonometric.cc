// asin, acos, atan and atan2: polynomials on a short interval, and identities that lead into it.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// A constant in two parts: what the type holds of it, and the rest.
struct TwoParts {
  double narrow_high, narrow_low, wide_high, wide_low;
  PrimExpr high(const RealType& real) const { return real(real.either(narrow_high, wide_high)); }
  PrimExpr low(const RealType& real) const { return real(real.either(narrow_low, wide_low)); }
};
constexpr TwoParts kPi{3.1415927410125732422, -8.7422776573475857731e-8, 3.1415926535897931160,
                       1.2246467991473532072e-16};
constexpr TwoParts kHalfPi{1.5707963705062866211, -4.3711388286737928865e-8, 1.5707963267948965580,
                           6.1232339957367660359e-17};
constexpr TwoParts kQuarterPi{0.78539818525314331055, -2.1855694143368964433e-8, 0.78539816339744827900,
                              3.0616169978683830179e-17};

/// x + x u P(u), u = x^2 named `square`.
PrimExpr odd(const RealType& real, const PrimExpr& x, const PrimExpr& square, std::span<const double> narrow,
             std::span<const double> wide) {
  return x + x * (square * polynomial(square, real, real.is_double() ? wide : narrow));
}

/// asin of a size up to 1/2, or of sqrt((1 - size) / 2), which is a half of acos(size), for larger ones.
struct HalfAngle {
  PrimExpr is_small, angle;
  HalfAngle(Steps& steps, const RealType& real, const PrimExpr& size) {
    is_small = steps(size <= real(0.5));
    PrimExpr square = steps(make_select(is_small, size * size, (real(1) - size) * real(0.5)));
    PrimExpr argument = steps(make_select(is_small, size, unary_intrin("tir.sqrt", square)));
    angle = steps(odd(real, argument, square, coefficients::kAsin32, coefficients::kAsin64));
  }
};

/// The angle of a point in the first quadrant, given the smaller and the larger of its coordinates: in [0, pi/4].
PrimExpr octant_angle(Steps& steps, const RealType& real, const PrimExpr& small, const PrimExpr& large) {
  // beyond pi/8 turn back by pi/4: tan(a - pi/4) = (tan a - 1) / (tan a + 1)
  PrimExpr is_steep = steps(small > large * real(0.41421356237309504880));
  PrimExpr above = make_select(is_steep, small - large, small);
  PrimExpr below = make_select(is_steep, small + large, large);
  PrimExpr t = steps(div(above, below));
  PrimExpr square = steps(t * t);
  PrimExpr angle = steps(odd(real, t, square, coefficients::kAtan32, coefficients::kAtan64));
  PrimExpr turned = kQuarterPi.high(real) + (angle + kQuarterPi.low(real));
  return make_select(is_steep, turned, angle);
}

}  // namespace

PrimExpr asin_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  HalfAngle half(steps, real, size);
  PrimExpr near_one = kHalfPi.high(real) - (half.angle + half.angle - kHalfPi.low(real));
  return with_sign_of(real, x, make_select(half.is_small, half.angle, near_one));
}

PrimExpr acos_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x));
  HalfAngle half(steps, real, size);
  PrimExpr is_negative = steps(x < real(0));
  PrimExpr signed_angle = steps(make_select(is_negative, real(0) - half.angle, half.angle));
  PrimExpr small = kHalfPi.high(real) - (signed_angle - kHalfPi.low(real));
  PrimExpr twice = steps(half.angle + half.angle);
  PrimExpr near_one = make_select(is_negative, kPi.high(real) - (twice - kPi.low(real)), twice);
  return make_select(half.is_small, small, near_one);
}

PrimExpr atan_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr size = steps(unary_intrin("tir.fabs", x)), one = real(1);
  PrimExpr is_large = steps(size > one);
  PrimExpr inverse = steps(make_select(is_large, div(one, size), size));
  PrimExpr angle = steps(octant_angle(steps, real, inverse, one));
  PrimExpr turned = kHalfPi.high(real) - (angle - kHalfPi.low(real));
  return with_sign_of(real, x, make_select(is_large, turned, angle));
}

PrimExpr atan2_of(Steps& steps, const RealType& real, const PrimExpr& y, const PrimExpr& x) {
  // The sum of two huge coordinates must not overflow; a quarter of both is the same point.
  PrimExpr huge = real(real.either(1e38, 1e307)), inf = real.inf();
  PrimExpr wide = steps(unary_intrin("tir.fabs", x)), tall = steps(unary_intrin("tir.fabs", y));
  PrimExpr is_tall = steps(tall > wide);
  PrimExpr small = steps(make_select(is_tall, wide, tall)), large = steps(make_select(is_tall, tall, wide));
  PrimExpr shrink = steps(make_select(large > huge, real(0.25), real(1)));
  // Both infinite is the diagonal, and the origin lies on the axis.
  PrimExpr is_diagonal = steps(equal(small, inf));
  PrimExpr b = steps(make_select(logical_or(is_diagonal, equal(large, real(0))), real(1), large * shrink));
  PrimExpr a = steps(make_select(is_diagonal, real(1), small * shrink));
  PrimExpr angle = steps(octant_angle(steps, real, a, b));
  angle = steps(make_select(is_tall, kHalfPi.high(real) - (angle - kHalfPi.low(real)), angle));
  PrimExpr is_left = reinterpret(real.integer(), x) < real.bits(0);  // -0.0 too
  angle = steps(make_select(is_left, kPi.high(real) - (angle - kPi.low(real)), angle));
  PrimExpr is_nan = logical_or(not_equal(x, x), not_equal(y, y));
  return make_select(is_nan, x + y, with_sign_of(real, y, angle));
}

}  // namespace tessera::codegen
