// Arithmetic: sums, products, the divisions, minimum and maximum, shifts and bits.

#include "ir/builtin.h"
#include "ir/prim/match.h"

namespace tessera {
namespace {

/// Operands brought to one type, then folded, then a node of type T.
template <class T>
PrimExpr build_matched(PrimExpr a, PrimExpr b, std::string_view what) {
  match_types(a, b, what);
  if (PrimExpr folded = try_fold<T>(a, b)) return folded;
  return make_binary<T>(std::move(a), std::move(b));
}

template <class T>
PrimExpr build_integer(PrimExpr a, PrimExpr b, std::string_view what) {
  require_integers(a, b, what);
  return build_matched<T>(std::move(a), std::move(b), what);
}

/// A bit operation: folds two constants of an index type, else a call.
template <class F>
PrimExpr build_bitwise(PrimExpr a, PrimExpr b, std::string_view what, const Op& op, F compute) {
  require_integers(a, b, what);
  match_types(a, b, what);
  DataType dtype = a.dtype();
  auto *x = as_int(a), *y = as_int(b);
  if (x && y && is_index_type(dtype))
    return wrapped_const(dtype, compute(static_cast<uint64_t>(*x), static_cast<uint64_t>(*y)));
  return make_call(dtype, op, {a, b});
}

/// Brings the operands of a shift to one type and checks a constant amount.
void prepare_shift(PrimExpr& a, PrimExpr& b, std::string_view what) {
  require_integers(a, b, what);
  match_types(a, b, what);
  auto* amount = as_int(b);
  if (!amount || !is_index_type(a.dtype()) || (*amount >= 0 && *amount < a.dtype().bits)) return;
  throw Error(RuntimeError) << "Shift amount must be non-negative and less than " << int(a.dtype().bits) << " for type "
                            << a.dtype() << ", but that of the " << what << " is " << *amount;
}

}  // namespace

PrimExpr operator+(PrimExpr a, PrimExpr b) { return build_matched<Add>(std::move(a), std::move(b), "+"); }
PrimExpr operator-(PrimExpr a, PrimExpr b) { return build_matched<Sub>(std::move(a), std::move(b), "-"); }
PrimExpr operator*(PrimExpr a, PrimExpr b) { return build_matched<Mul>(std::move(a), std::move(b), "*"); }

PrimExpr operator-(PrimExpr a) {
  require_operands(a, a, "negation");
  if (auto* value = a.as<IntImm>()) return wrapped_const(value->dtype, -static_cast<uint64_t>(value->value));
  if (auto* value = a.as<FloatImm>()) return float_imm(value->dtype, -value->value);
  PrimExpr zero = make_zero(a.dtype());
  return zero - std::move(a);
}

PrimExpr div(PrimExpr a, PrimExpr b) { return build_matched<Div>(std::move(a), std::move(b), "div"); }
PrimExpr truncdiv(PrimExpr a, PrimExpr b) { return build_integer<Div>(std::move(a), std::move(b), "truncdiv"); }
PrimExpr truncmod(PrimExpr a, PrimExpr b) { return build_matched<Mod>(std::move(a), std::move(b), "truncmod"); }
PrimExpr floordiv(PrimExpr a, PrimExpr b) { return build_integer<FloorDiv>(std::move(a), std::move(b), "floordiv"); }
PrimExpr floormod(PrimExpr a, PrimExpr b) { return build_integer<FloorMod>(std::move(a), std::move(b), "floormod"); }
PrimExpr indexdiv(PrimExpr a, PrimExpr b) { return floordiv(std::move(a), std::move(b)); }
PrimExpr indexmod(PrimExpr a, PrimExpr b) { return floormod(std::move(a), std::move(b)); }
PrimExpr ceildiv(PrimExpr a, PrimExpr b) {
  require_integers(a, b, "ceildiv");
  return floordiv(a + b - 1, b);
}

PrimExpr min(PrimExpr a, PrimExpr b) { return build_matched<Min>(std::move(a), std::move(b), "min"); }
PrimExpr max(PrimExpr a, PrimExpr b) { return build_matched<Max>(std::move(a), std::move(b), "max"); }

PrimExpr operator&(PrimExpr a, PrimExpr b) {
  return build_bitwise(std::move(a), std::move(b), "& operator (bitwise AND)", builtin::bitwise_and(),
                       std::bit_and<uint64_t>());
}
PrimExpr operator|(PrimExpr a, PrimExpr b) {
  return build_bitwise(std::move(a), std::move(b), "| operator (bitwise OR)", builtin::bitwise_or(),
                       std::bit_or<uint64_t>());
}
PrimExpr operator^(PrimExpr a, PrimExpr b) {
  return build_bitwise(std::move(a), std::move(b), "^ operator (bitwise XOR)", builtin::bitwise_xor(),
                       std::bit_xor<uint64_t>());
}
PrimExpr operator~(PrimExpr a) {
  require_integer(a, "~ operator (bitwise NOT)");
  return make_call(a.dtype(), builtin::bitwise_not(), {a});
}

PrimExpr operator<<(PrimExpr a, PrimExpr b) {
  prepare_shift(a, b, "<< operator (left shift)");
  auto *x = as_int(a), *y = as_int(b);
  if (y && is_index_type(a.dtype())) {
    if (x) return wrapped_const(a.dtype(), static_cast<uint64_t>(*x) << *y);
    if (*y == 0) return a;
  }
  return make_call(a.dtype(), builtin::shift_left(), {a, b});
}

PrimExpr operator>>(PrimExpr a, PrimExpr b) {
  prepare_shift(a, b, ">> operator (right shift)");
  auto *x = as_int(a), *y = as_int(b);
  if (y && is_index_type(a.dtype())) {
    if (x) return int_imm(a.dtype(), *x >> *y);
    if (*y == 0) return a;
  }
  return make_call(a.dtype(), builtin::shift_right(), {a, b});
}

}  // namespace tessera
