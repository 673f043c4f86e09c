#pragma once
// Products of bytes: each lane of int32 takes four of uint8 times four of int8.

#include "ir/prim_expr.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Bytes that a lane takes at once.
inline constexpr int kByteGroup = 4;

/// The vectors in which this machine adds up products of bytes; null where it has no instructions for that.
/// With AVX-512 VNNI, or with i8mm on ARM, one instruction does it. Else AVX2 multiplies pairs of 16 bits, in vectors of 32
/// bytes; nothing is cut short on the way.
const Isa* byte_isa(const Machine& machine);

/// sums + a . b in vectors of `isa`: `sums` of int32, `a` (uint8) and `b` (int8) four bytes a lane, seen as int32.
PrimExpr byte_dot(const Isa& isa, const PrimExpr& sums, const PrimExpr& a, const PrimExpr& b);

/// One step as a tensor intrinsic for tir.Schedule, by its name; C lies in "local" memory:
///   for j in lanes: for k in 4:  C[j] += int32(A[k]) * int32(B[j, k])
String byte_dot_intrin(const Isa& isa);

}  // namespace tessera::topi
