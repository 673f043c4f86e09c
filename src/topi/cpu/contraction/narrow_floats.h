#pragma once
// Floats of 16 bits in memory, on processors that compute with those of 32.

#include "topi/cpu/machine.h"

namespace tessera::topi {

/// float16 and bfloat16.
inline bool is_narrow_float(DataType dtype) {
  return dtype.lanes == 1 && dtype.bits == 16 && (dtype.is_float() || dtype.is_bfloat());
}

/// True where vectors of such floats become float32 in an instruction or two as they are read, so that weights may stay as
/// narrow as they are.
bool widens_when_read(const Machine& machine, DataType dtype);

/// True where pairs of bfloat16 are multiplied and added to float32 by one instruction: `vdpbf16ps` of AVX-512 BF16, `bfdot` of
/// ARM's bf16.
bool multiplies_bfloats(const Machine& machine);

}  // namespace tessera::topi
