#pragma once
// Exact 64-bit integer arithmetic: what overflows is noticed, and bounds saturate at infinity.

#include <cstdint>
#include <numeric>
#include <optional>

namespace tessera::arith {

inline constexpr int64_t kPosInf = INT64_MAX;
inline constexpr int64_t kNegInf = -kPosInf;
inline bool is_inf(int64_t v) { return v >= kPosInf || v <= kNegInf; }

using MaybeInt = std::optional<int64_t>;

inline MaybeInt checked_add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? MaybeInt() : out;
}
inline MaybeInt checked_sub(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_sub_overflow(a, b, &out) ? MaybeInt() : out;
}
inline MaybeInt checked_mul(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? MaybeInt() : out;
}

/// Quotients and remainders of numbers; the caller keeps b from being 0, and from being -1 where a is INT64_MIN.
inline int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
inline int64_t floor_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}
inline bool can_divide(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }

inline int64_t gcd(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN) return 1;
  return std::gcd(a, b);
}

/// The gcd g of a and b with g = a * x + b * y.
inline int64_t extended_gcd(int64_t a, int64_t b, int64_t* x, int64_t* y) {
  int64_t x0 = 1, x1 = 0, y0 = 0, y1 = 1;
  while (b != 0) {
    int64_t q = a / b, t = a % b;
    a = b, b = t;
    t = x0 - q * x1, x0 = x1, x1 = t;
    t = y0 - q * y1, y0 = y1, y1 = t;
  }
  if (a < 0) a = -a, x0 = -x0, y0 = -y0;
  *x = x0, *y = y0;
  return a;
}

/// Arithmetic on bounds: infinity absorbs, overflow becomes infinity.
inline int64_t clamp_inf(int64_t v) { return v < kNegInf ? kNegInf : v; }
inline int64_t sat_add(int64_t a, int64_t b) {
  if (is_inf(a)) return clamp_inf(a);
  if (is_inf(b)) return clamp_inf(b);
  MaybeInt out = checked_add(a, b);
  return out ? clamp_inf(*out) : (a > 0 ? kPosInf : kNegInf);
}
inline int64_t sat_neg(int64_t a) { return a <= kNegInf ? kPosInf : -a; }
inline int64_t sat_sub(int64_t a, int64_t b) { return sat_add(a, sat_neg(b)); }
inline int64_t sat_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  int64_t inf = (a > 0) == (b > 0) ? kPosInf : kNegInf;
  if (is_inf(a) || is_inf(b)) return inf;
  MaybeInt out = checked_mul(a, b);
  return out ? clamp_inf(*out) : inf;
}

}  // namespace tessera::arith
