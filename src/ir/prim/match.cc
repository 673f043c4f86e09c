#include "ir/prim/match.h"

#include <algorithm>
#include <cmath>

#include "ir/builtin.h"

namespace tessera {
namespace {

/// The element type both operands take; `a` and `b` differ.
DataType common_element(DataType a, DataType b, std::string_view what) {
  if (a.is_handle() || b.is_handle() || a.is_void() || b.is_void())
    throw Error(RuntimeError) << what << ": cannot match type " << a << " vs " << b;
  if (a.code >= DataType::kCustom && b.code < DataType::kCustom) return a;
  if (b.code >= DataType::kCustom && a.code < DataType::kCustom) return b;
  if (a.is_float() && b.is_float()) return a.bits >= b.bits ? a : b;
  if (a.is_float() || b.is_float()) return a.is_float() ? a : b;
  if (a.is_bfloat() || b.is_bfloat()) return a.is_bfloat() ? a : b;
  if (a.is_integral() && b.is_integral()) {
    if (a.bits != b.bits) return a.bits > b.bits ? a : b;
    return a.is_uint() ? a : b;
  }
  throw Error(RuntimeError) << what << ": cannot match type " << a << " vs " << b;
}

/// What is thrown for an operand of another type, in v0.10's words. `role` is as in "as LHS of &".
Error wrong_operand(std::string_view kind, const PrimExpr& operand, std::string_view role, std::string_view what) {
  return Error(RuntimeError) << "Expected " << kind << " argument " << role << what << ", but received " << operand
                             << " of type " << operand.dtype();
}

constexpr std::string_view kLeft = "as LHS of ", kRight = "as RHS of ", kCompare = "; compare it with 0 first";

}  // namespace

void require_operands(const PrimExpr& a, const PrimExpr& b, std::string_view what) {
  if (!a || !b) throw Error(ValueError) << what << ": the " << (a ? "right" : "left") << " operand is missing (None)";
}

void require_integers(const PrimExpr& a, const PrimExpr& b, std::string_view what) {
  require_operands(a, b, what);
  if (!a.dtype().is_integral()) throw wrong_operand("integer", a, kLeft, what);
  if (!b.dtype().is_integral()) throw wrong_operand("integer", b, kRight, what);
}

void require_booleans(const PrimExpr& a, const PrimExpr& b, std::string_view what) {
  require_operands(a, b, what);
  if (!a.dtype().is_bool()) throw wrong_operand("boolean", a, kLeft, what) << kCompare;
  if (!b.dtype().is_bool()) throw wrong_operand("boolean", b, kRight, what) << kCompare;
}

void require_integer(const PrimExpr& a, std::string_view what) {
  require_operands(a, a, what);
  if (!a.dtype().is_integral()) throw wrong_operand("integer", a, "of ", what);
}

void require_boolean(const PrimExpr& a, std::string_view what) {
  require_operands(a, a, what);
  if (!a.dtype().is_bool()) throw wrong_operand("boolean", a, "of ", what) << kCompare;
}

void match_types(PrimExpr& a, PrimExpr& b, std::string_view what) {
  require_operands(a, b, what);
  DataType left = a.dtype(), right = b.dtype();
  if (left == right) return;
  int lanes = std::max(left.lanes, right.lanes);
  if (left.lanes != right.lanes) {
    if (left.lanes != 1 && right.lanes != 1)
      throw Error(RuntimeError) << what << ": cannot match type " << left << " vs " << right
                                << "; the numbers of lanes differ";
    if (left.lanes == 1) a = make_broadcast(a, lanes);
    if (right.lanes == 1) b = make_broadcast(b, lanes);
    if (left.element() == right.element()) return;
  }
  DataType common = common_element(left.element(), right.element(), what).with_lanes(lanes);
  a = cast(common, a);
  b = cast(common, b);
}

uint64_t truncated_bits(double value, DataType to) {
  constexpr double kInt32 = 0x1p31, kInt64 = 0x1p63, kUInt64 = 0x1p64;
  const bool by_int32 = to.bits < 32 || to == DataType::Int(32);
  // at the minimum itself both ways agree
  if (by_int32)
    return static_cast<uint64_t>(std::abs(value) < kInt32 ? static_cast<int64_t>(value) : int64_t{INT32_MIN});
  if (to.is_uint() && to.bits == 64 && value >= kInt64 && value < kUInt64) return static_cast<uint64_t>(value);
  return static_cast<uint64_t>(std::abs(value) < kInt64 ? static_cast<int64_t>(value) : INT64_MIN);
}

PrimExpr wrapped_const(DataType dtype, uint64_t bits) {
  int unused = std::clamp(64 - dtype.bits, 0, 63);  // types wider than a word come only from nonsense
  if (dtype.is_int()) return int_imm(dtype, static_cast<int64_t>(bits << unused) >> unused);
  bits = bits << unused >> unused;
  if (bits <= INT64_MAX) return int_imm(dtype, static_cast<int64_t>(bits));
  auto half = [](uint64_t part) { return int_imm(DataType::UInt(32), static_cast<int64_t>(part & 0xffffffff)); };
  return make_call(dtype, builtin::large_uint_imm(), {half(bits), half(bits >> 32)});
}

}  // namespace tessera
