#pragma once
// How a matmul is tiled for registers, caches and threads, worked out from the machine.

#include "topi/cpu/machine.h"

namespace tessera::topi {

/// C[m, n] = A[m, k] . B[k, n] is computed in blocks of `mc` x `nc` that stay in L2 while k runs in steps of `kc`; a
/// block is made of tiles of `mr` x `nr`, each computed by one call of a micro-kernel.
///
///   for each thread's part of C:                           threads_m x threads_n parts of part_m x part_n
///     for columns of nc: pack B[k, nc] into panels         (once for all threads where threads_m > 1)
///       for rows of mc: for k in steps of kc: pack A[mc, kc]
///         for tiles of the block: micro-kernel             a panel of B stays in L1
///         copy the block to C
///
/// Sizes are in elements; mc is a multiple of mr and nc of nr, and a part is made of whole blocks. kc * steps may exceed k
/// by a little, and tiles may stick out of C: panels are filled up with zeros and the copy stops at the edge.
struct GemmTilesNode : Object {
  int32_t mr = 0, nr = 0, kc = 0, mc = 0, nc = 0;
  int32_t threads_m = 1, threads_n = 1, part_m = 0, part_n = 0;
  static constexpr NodeInfo info{"topi.cpu.GemmTiles", &Object::info};
  static void fields(auto f) {
    f("mr", &GemmTilesNode::mr);
    f("nr", &GemmTilesNode::nr);
    f("kc", &GemmTilesNode::kc);
    f("mc", &GemmTilesNode::mc);
    f("nc", &GemmTilesNode::nc);
    f("threads_m", &GemmTilesNode::threads_m);
    f("threads_n", &GemmTilesNode::threads_n);
    f("part_m", &GemmTilesNode::part_m);
    f("part_n", &GemmTilesNode::part_n);
  }
};
using GemmTiles = Ref<GemmTilesNode>;

/// The tiles for `threads` threads; 0 means one for each core of the machine.
GemmTiles gemm_tiles(const Machine& machine, int64_t m, int64_t n, int64_t k, DataType dtype, int threads);

}  // namespace tessera::topi
