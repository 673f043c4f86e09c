#pragma once
// Dot products by groups: each lane of a sum takes several neighbours along k of both factors at once.

#include "ir/prim/expr.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// The types of such dot products; `group` elements are as wide as a lane of the sum.
struct GroupDot {
  DataType a, b, sum;
  int group;
};
/// u8s8: four of uint8 times four of int8 into int32.
inline constexpr GroupDot kInt8Dot{DataType::UInt(8), DataType::Int(8), DataType::Int(32), 4};
/// Two of bf16 times two into fp32. Subnormal numbers count as 0.
inline constexpr GroupDot kBf16Dot{DataType::BFloat(16), DataType::BFloat(16), DataType::Float(32), 2};

/// Elements of int8 that a lane takes at once.
inline constexpr int kInt8Group = kInt8Dot.group;

/// The vectors in which this machine computes such dot products; null where it has no instructions for that.
/// int8: with AVX-512 VNNI, or with i8mm on ARM, one instruction does it; dotprod and SVE take three for two. Else AVX2
/// multiplies pairs of int16, in vectors of 32 bytes; nothing saturates on the way. bf16: AVX-512 BF16, and bf16 on ARM.
const Isa* group_isa(const Machine& machine, const GroupDot& dot);
/// Where vectors of so many sums are wanted, which may be half of what a register holds; nullptr where there are none.
const Isa* group_isa(const Machine& machine, const GroupDot& dot, int64_t lanes);
inline const Isa* int8_isa(const Machine& machine) { return group_isa(machine, kInt8Dot); }

/// sums + a . b in vectors of `isa`: `a` and `b` a group a lane, seen as int32.
PrimExpr group_dot(const GroupDot& dot, const Isa& isa, const PrimExpr& sums, const PrimExpr& a, const PrimExpr& b);

/// One step as a tensor intrinsic for tir.Schedule, by its name; C lies in "local" memory:
///   for j in lanes: for k in group:  C[j] += sum(A[k]) * sum(B[j, k])
String group_dot_intrin(const GroupDot& dot, const Isa& isa);

}  // namespace tessera::topi
