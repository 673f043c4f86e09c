#pragma once
// Factors of a contraction as the copy engine of Hopper moves them: boxes of a tensor, or windows of images.

#include "runtime/cuda/tensor_map.h"
#include "topi/gpu/contraction.h"

namespace tessera::topi {

inline constexpr int64_t kLineBytes = 128;  // of a box, in shared memory

/// A matrix of each batch, with neighbours along k or along the rows; or the windows of a convolution over channels-last images,
/// whose rows are positions and whose k is (window elements, channels).
struct TensorOperand {
  GemmOperand operand;
  bool along_k = true;
  GemmAxes batch;       // of the contraction, in the digits that say where a matrix is
  cuda::TensorMap map;  // all but its box
  // of windows
  std::vector<PrimExpr> positions;     // extents of rows: images, then positions
  std::vector<PrimExpr> elements;      // extents of k: window elements, then channels
  std::vector<int64_t> begins, steps;  // of positions: columns, rows
  std::vector<int64_t> dilation;       // of window elements: columns, rows

  bool has_windows() const { return map.has_windows(); }
  /// Elements of a line of a box.
  int64_t line() const { return kLineBytes / operand.dtype.bytes(); }
};
/// Nothing where steps are no multiples of 16 bytes or elements have a condition that is no border of images.
std::optional<TensorOperand> as_tensor_operand(const GpuContraction& contraction, const GemmOperand& operand,
                                               const GemmAxes& rows);

/// Copies of `rows` x one line along k from element (row, k), or of lines along the rows, to `memory` from `to` on. `mask`: of blocks of the
/// cluster that get it; 0 for the own one.
Stmt copy_box(const TensorOperand& tensor, const PrimExpr& batch, const PrimExpr& row, const PrimExpr& k, int64_t rows,
              const Buffer& memory, const PrimExpr& to, const PrimExpr& barrier, const PrimExpr& mask);

}  // namespace tessera::topi
