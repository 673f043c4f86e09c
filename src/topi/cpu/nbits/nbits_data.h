#pragma once
// Data as matmuls with packed weights read it.

#include <functional>

#include "tir/stmt.h"
#include "topi/nn/matmul_nbits.h"

namespace tessera::topi {

/// `lanes` elements of a row from `k` on, as they are.
using RowVector = std::function<PrimExpr(const PrimExpr& row, const PrimExpr& k, int64_t lanes)>;

/// Copies of the rows of data, each `k` elements long, in memory that exists while the matmul runs.
struct NBitsData {
  const NBitsMatmul& matmul;
  int64_t k = 0;
  RowVector load;
  PrimExpr rows;
  Buffer values, sums, scales;

  int64_t blocks() const { return k / matmul.block; }
  /// fp32 in the order in which the numbers of a lane follow each other, each divided by the power of two that it has inside the
  /// lane unless it is the last; and the sums of blocks.
  Stmt for_floats(const std::function<Stmt()>& body);
  /// int8 by the largest magnitude of each block; scales of blocks, and sums of their integers, as fp32.
  Stmt for_int8(const std::function<Stmt()>& body);
  /// fp32, rows `stride()` apart.
  Stmt for_gemm(bool is_parallel, const std::function<Stmt()>& body);
  /// So that rows of a tile lie in different sets of a cache.
  int64_t stride() const { return k + 16; }
};

}  // namespace tessera::topi
