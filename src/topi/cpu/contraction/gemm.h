#pragma once
// Matmuls by micro-kernels: what is computed, panel by panel, and the TE schedule that goes with it.

#include "ir/target/target.h"
#include "te/schedule.h"
#include "topi/cpu/contraction/gemm_tiles.h"

namespace tessera::topi {

/// a (..., m, k) and b, a matrix for all of them that was packed beforehand. The result is (..., m, n).
struct MatrixProduct {
  te::Tensor a, b;  // b is (blocks of n, k, block); of groups (blocks of n, k / group, block, group)
  DataType out_dtype;
  int64_t units = 0;  // n: the last block may be filled up
};

/// The extents of a product; nothing where one is not a number, where elements are of a type without micro-kernel, or where
/// it is too small for panels to pay. Rows and the dimensions before them may be dynamic: `batch` and `m` then are a
/// guess.
struct GemmSize {
  int64_t batch = 1, m = 0, n = 0, k = 0;  // `batch` products of each
  PrimExpr dynamic_m;                      // the rows where they are no number
  int64_t group = 1;                       // neighbours along k that one lane takes
};
std::optional<GemmSize> gemm_size(const MatrixProduct& product, const Machine& machine);

/// How the product is cut: in the blocks of b and in steps that divide k.
GemmTiles gemm_tiles_of(const MatrixProduct& product, const GemmSize& size, const Machine& machine);

/// The product in panels. What follows it element by element may be put into the copy at its end.
te::Tensor gemm(const MatrixProduct& product, const GemmSize& size, const GemmTiles& tiles);

/// The schedule of `outs`, which are computed from one product that `gemm` gave.
te::Schedule schedule_gemm(const Array<te::Tensor>& outs, const Target& target);

}  // namespace tessera::topi
