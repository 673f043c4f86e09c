// Folding of one binary node over constants, and the identities that hold for any operand.
//
// Integers wrap in their own width. float32 is computed in float32 and float64 in float64; narrower floats are left
// to the target. Remainders are folded on index types only.

#include <cmath>

#include "ir/prim/match.h"

namespace tessera {
namespace {

/// Both operands as the numbers they are; null where one is not.
struct Numbers {
  const IntImm *ia, *ib;
  const FloatImm *fa, *fb;
  DataType dtype;

  Numbers(const PrimExpr& a, const PrimExpr& b)
      : ia(a.as<IntImm>()), ib(b.as<IntImm>()), fa(a.as<FloatImm>()), fb(b.as<FloatImm>()), dtype(a.dtype()) {}
  bool ints() const { return ia && ib; }
  bool floats() const { return fa && fb; }
  bool a_is(int value) const { return (ia && ia->value == value) || (fa && fa->value == value); }
  bool b_is(int value) const { return (ib && ib->value == value) || (fb && fb->value == value); }

  /// The wrapped result of `compute` on the two's complement bits.
  template <class F>
  PrimExpr int_result(F compute) const {
    return wrapped_const(dtype, compute(static_cast<uint64_t>(ia->value), static_cast<uint64_t>(ib->value)));
  }
  /// The result of `compute` in the operands' own precision; empty for types we do not compute in.
  template <class F>
  PrimExpr float_result(F compute) const {
    if (!dtype.is_float()) return nullptr;
    if (dtype.bits == 64) return float_imm(dtype, compute(fa->value, fb->value));
    if (dtype.bits == 32)
      return float_imm(dtype, compute(static_cast<float>(fa->value), static_cast<float>(fb->value)));
    return nullptr;
  }
};

void check_divisor(const Numbers& n, std::string_view what, const PrimExpr& a) {
  if (n.b_is(0)) throw Error(RuntimeError) << "Divide by zero: " << what << " of " << a << " by the constant 0";
}

/// Quotient and remainder that round towards zero; the one overflow (minimum / -1) wraps.
int64_t trunc_quotient(int64_t a, int64_t b) {
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}
int64_t trunc_remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t floor_quotient(int64_t a, int64_t b) {
  return trunc_quotient(a, b) - (trunc_remainder(a, b) != 0 && (a < 0) != (b < 0));
}
int64_t floor_remainder(int64_t a, int64_t b) {
  int64_t rest = trunc_remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class F>
PrimExpr fold_quotient(const PrimExpr& a, const PrimExpr& b, std::string_view what, F quotient) {
  Numbers n(a, b);
  check_divisor(n, what, a);
  if (n.ints()) return wrapped_const(n.dtype, static_cast<uint64_t>(quotient(n.ia->value, n.ib->value)));
  if (n.a_is(0) && !n.floats()) return a;
  if (n.b_is(1)) return a;
  return nullptr;
}

template <class F>
PrimExpr fold_remainder(const PrimExpr& a, const PrimExpr& b, std::string_view what, F remainder) {
  if (!is_index_type(a.dtype()) || !is_index_type(b.dtype())) return nullptr;
  Numbers n(a, b);
  check_divisor(n, what, a);
  if (n.ints()) return int_imm(n.dtype, remainder(n.ia->value, n.ib->value));
  if (n.a_is(0)) return a;
  if (n.b_is(1)) return make_zero(n.dtype);
  return nullptr;
}

template <class F>
PrimExpr fold_comparison(const PrimExpr& a, const PrimExpr& b, F holds) {
  Numbers n(a, b);
  if (n.ints()) return bool_imm(holds(n.ia->value, n.ib->value));
  if (n.floats()) return bool_imm(holds(n.fa->value, n.fb->value));
  return nullptr;
}

}  // namespace

template <>
PrimExpr try_fold<Add>(const PrimExpr& a, const PrimExpr& b) {
  Numbers n(a, b);
  if (n.ints()) return n.int_result([](uint64_t x, uint64_t y) { return x + y; });
  if (n.floats())
    if (PrimExpr out = n.float_result([](auto x, auto y) { return x + y; })) return out;
  if (n.a_is(0)) return b;
  if (n.b_is(0)) return a;
  return nullptr;
}

template <>
PrimExpr try_fold<Sub>(const PrimExpr& a, const PrimExpr& b) {
  Numbers n(a, b);
  if (n.ints()) return n.int_result([](uint64_t x, uint64_t y) { return x - y; });
  if (n.floats())
    if (PrimExpr out = n.float_result([](auto x, auto y) { return x - y; })) return out;
  return n.b_is(0) ? a : PrimExpr();
}

template <>
PrimExpr try_fold<Mul>(const PrimExpr& a, const PrimExpr& b) {
  Numbers n(a, b);
  if (n.ints()) return n.int_result([](uint64_t x, uint64_t y) { return x * y; });
  if (n.floats())
    if (PrimExpr out = n.float_result([](auto x, auto y) { return x * y; })) return out;
  if (n.a_is(1) || n.b_is(0)) return b;
  if (n.b_is(1) || n.a_is(0)) return a;
  return nullptr;
}

template <>
PrimExpr try_fold<Div>(const PrimExpr& a, const PrimExpr& b) {
  if (PrimExpr out = fold_quotient(a, b, "div", trunc_quotient)) return out;
  Numbers n(a, b);
  return n.floats() ? n.float_result([](auto x, auto y) { return x / y; }) : PrimExpr();
}

template <>
PrimExpr try_fold<FloorDiv>(const PrimExpr& a, const PrimExpr& b) {
  if (PrimExpr out = fold_quotient(a, b, "floordiv", floor_quotient)) return out;
  Numbers n(a, b);
  return n.floats() ? n.float_result([](auto x, auto y) { return std::floor(x / y); }) : PrimExpr();
}

template <>
PrimExpr try_fold<Mod>(const PrimExpr& a, const PrimExpr& b) {
  return fold_remainder(a, b, "truncmod", trunc_remainder);
}
template <>
PrimExpr try_fold<FloorMod>(const PrimExpr& a, const PrimExpr& b) {
  return fold_remainder(a, b, "floormod", floor_remainder);
}

template <>
PrimExpr try_fold<Min>(const PrimExpr& a, const PrimExpr& b) {
  Numbers n(a, b);
  if (n.ints()) return n.ia->value <= n.ib->value ? a : b;
  if (n.floats()) return n.fa->value <= n.fb->value || std::isnan(n.fa->value) ? a : b;
  return a.same_as(b) ? a : PrimExpr();
}
template <>
PrimExpr try_fold<Max>(const PrimExpr& a, const PrimExpr& b) {
  Numbers n(a, b);
  if (n.ints()) return n.ia->value >= n.ib->value ? a : b;
  if (n.floats()) return n.fa->value >= n.fb->value || std::isnan(n.fa->value) ? a : b;
  return a.same_as(b) ? a : PrimExpr();
}

#define TESSERA_FOLD_COMPARISON(NODE, OP)                                \
  template <>                                                            \
  PrimExpr try_fold<NODE>(const PrimExpr& a, const PrimExpr& b) {        \
    return fold_comparison(a, b, [](auto x, auto y) { return x OP y; }); \
  }
TESSERA_FOLD_COMPARISON(EQ, ==)
TESSERA_FOLD_COMPARISON(NE, !=)
TESSERA_FOLD_COMPARISON(LT, <)
TESSERA_FOLD_COMPARISON(LE, <=)
TESSERA_FOLD_COMPARISON(GT, >)
TESSERA_FOLD_COMPARISON(GE, >=)
#undef TESSERA_FOLD_COMPARISON

template <>
PrimExpr try_fold<And>(const PrimExpr& a, const PrimExpr& b) {
  if (auto* value = as_int(a)) return *value ? b : a;
  if (auto* value = as_int(b)) return *value ? a : b;
  return nullptr;
}
template <>
PrimExpr try_fold<Or>(const PrimExpr& a, const PrimExpr& b) {
  if (auto* value = as_int(a)) return *value ? a : b;
  if (auto* value = as_int(b)) return *value ? b : a;
  return nullptr;
}

}  // namespace tessera
