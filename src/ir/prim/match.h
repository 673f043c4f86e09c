#pragma once
// What the builders of expressions share: bringing operands to one type, and the checks on them.

#include "ir/prim/ops.h"

namespace tessera {

/// Casts `a` and `b` to one type. Lanes: a scalar is broadcast to the other's lanes. Element types:
///   float and float        the wider one
///   float and another      the float (bfloat16 counts as "another" here)
///   bfloat and an integer  the bfloat
///   integers               the one with more bits; of equal bits the unsigned one
/// `what` names the operator in the error for types that have nothing in common.
void match_types(PrimExpr& a, PrimExpr& b, std::string_view what);

/// Throw unless all operands are given, integers, or booleans.
void require_operands(const PrimExpr& a, const PrimExpr& b, std::string_view what);
void require_integers(const PrimExpr& a, const PrimExpr& b, std::string_view what);
void require_booleans(const PrimExpr& a, const PrimExpr& b, std::string_view what);
void require_integer(const PrimExpr& a, std::string_view what);
void require_boolean(const PrimExpr& a, std::string_view what);

/// Scalar int32 and int64: what loops count and index with.
constexpr bool is_index_type(DataType dtype) {
  return dtype.is_int() && dtype.is_scalar() && (dtype.bits == 32 || dtype.bits == 64);
}

/// What a Cast of a float to an integer type gives, on every target, lane by lane: the truncated value where the type
/// has it. What does not fit, and NaN, is the minimum of int32 or int64; of narrower types the lowest bits of the int32
/// result, of uint32 and other types of less than 64 bits those of the int64 result, and of uint64 that result itself.
uint64_t truncated_bits(double value, DataType to);

/// The constant whose two's complement bits are the lowest `dtype.bits` of `bits`.
PrimExpr wrapped_const(DataType dtype, uint64_t bits);

}  // namespace tessera
