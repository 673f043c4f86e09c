// exp, exp2 and exp10: x = n * log_b(2) + r with |r| small gives b^x = 2^n * b^r, and b^r is a polynomial.

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/intrin_rules/steps.h"

namespace tessera::codegen {
namespace {

/// y * 2^n, right also where the result is denormal, zero or infinite.
PrimExpr scale(const RealType& real, const PrimExpr& y, const PrimExpr& n) {
  return make_call(real.dtype, "tir.times_power_of_two", {y, n});
}

/// x brought into [low, high], beyond which the answer does not change; a NaN stays.
PrimExpr clamp(Steps& steps, const RealType& real, const PrimExpr& x, double low, double high) {
  PrimExpr above = steps(make_select(x < real(low), real(low), x));
  return steps(make_select(above > real(high), real(high), above));
}

struct Base {
  double low, high;            // where the answer becomes 0 and infinity
  double log2_base;            // n = round(x * log2_base)
  double step_high, step_low;  // log_base(2) in two parts, so that n * step_high is exact
};

/// r and n, a whole number, of the reduction of an x within the bounds.
std::pair<PrimExpr, PrimExpr> split(Steps& steps, const RealType& real, const PrimExpr& x, const Base& base) {
  PrimExpr n = steps(floor(x * real(base.log2_base) + real(0.5)));
  PrimExpr r = steps(x - n * real(base.step_high));
  if (base.step_low != 0) r = steps(r - n * real(base.step_low));
  return {r, n};
}

/// The same of any x.
std::pair<PrimExpr, PrimExpr> reduce(Steps& steps, const RealType& real, const PrimExpr& x, const Base& base) {
  return split(steps, real, clamp(steps, real, x, base.low, base.high), base);
}

constexpr Base kNarrow{-104, 90, 1.4426950408889634074, 0.693359375, -0.00021219444005469058277};
constexpr Base kWide{-746, 711, 1.4426950408889634074, 0.69314718055829871446, 1.6465949582897081281e-12};

/// e^x / 2^halvings of an x within the bounds.
PrimExpr exp_within(Steps& steps, const RealType& real, const PrimExpr& x, int halvings) {
  auto [r, n] = split(steps, real, x, real.either(kNarrow, kWide));
  PrimExpr p = real.is_double() ? polynomial(r, real, coefficients::kExp64) : polynomial(r, real, coefficients::kExp32);
  return scale(real, real(1) + (r + r * r * p), halvings ? n - real(halvings) : n);
}

}  // namespace

PrimExpr exp_of(Steps& steps, const RealType& real, const PrimExpr& x, int halvings) {
  const Base& base = real.either(kNarrow, kWide);
  return exp_within(steps, real, clamp(steps, real, x, base.low, base.high), halvings);
}

PrimExpr decay_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  PrimExpr low = real(real.either(kNarrow.low, kWide.low));
  return exp_within(steps, real, steps(make_select(x < low, low, x)), 0);
}

PrimExpr exp2_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  static constexpr Base narrow{-151, 129, 1, 1, 0};
  static constexpr Base wide{-1076, 1025, 1, 1, 0};
  auto [r, n] = reduce(steps, real, x, real.either(narrow, wide));
  PrimExpr p =
      real.is_double() ? polynomial(r, real, coefficients::kExp2_64) : polynomial(r, real, coefficients::kExp2_32);
  return scale(real, real(1) + r * p, n);
}

PrimExpr exp10_of(Steps& steps, const RealType& real, const PrimExpr& x) {
  static constexpr Base narrow{-46, 39, 3.3219280948873623479, 0.30126953125, -0.00023953558601880478626};
  static constexpr Base wide{-325, 309, 3.3219280948873623479, 0.30102999566406651866, -8.5323443170571065302e-14};
  auto [r, n] = reduce(steps, real, x, real.either(narrow, wide));
  PrimExpr p =
      real.is_double() ? polynomial(r, real, coefficients::kExp10_64) : polynomial(r, real, coefficients::kExp10_32);
  return scale(real, real(1) + r * p, n);
}

}  // namespace tessera::codegen
