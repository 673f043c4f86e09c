#pragma once
// Matmuls with packed weights of a few bits on CPUs.

#include "topi/cpu/machine.h"
#include "topi/nn/matmul_nbits.h"

namespace tessera::topi {

/// As `matmul_nbits`, in one kernel for any number of rows. Few rows multiply integers as they are unpacked in registers, and blocks
/// are scaled once:
///   for tiles of columns, in parallel:  for blocks:  sums = 0;  for k: sums[i, v] += a(i, k) * unpacked(k, v)
///                                                    out[i, v] += (sums - sum of a * zero) * scale
/// by int8 dot products where data may be int8. For many rows weights of a tile of columns are unpacked to fp32 in memory that
/// caches hold, and multiplied tile by tile.
te::Tensor nbits_matmul(const NBitsMatmul& matmul, const Machine& machine);

}  // namespace tessera::topi
