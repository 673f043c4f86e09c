#pragma once
// fp16 and bf16 in memory, on CPUs that compute in fp32.

#include "topi/cpu/machine.h"

namespace tessera::topi {

/// fp16 and bf16.
inline bool is_half_float(DataType dtype) {
  return dtype.lanes == 1 && dtype.bits == 16 && (dtype.is_float() || dtype.is_bfloat());
}

/// True where vectors of them are widened to fp32 in an instruction or two as they are read, so that weights may stay in
/// 16 bits.
bool widens_when_read(const Machine& machine, DataType dtype);

/// True where pairs of bf16 are multiplied and added to fp32 by one instruction: `vdpbf16ps` of AVX-512 BF16, `bfdot` of
/// ARM's bf16.
bool multiplies_bf16(const Machine& machine);

/// True where contractions of this type gain by instructions of their own; elsewhere arithmetic is that of fp32.
inline bool has_arithmetic_of(const Machine& machine, DataType dtype) {
  return dtype.is_bfloat() && multiplies_bf16(machine);
}

}  // namespace tessera::topi
