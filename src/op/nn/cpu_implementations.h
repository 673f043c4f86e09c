#pragma once
// Implementations of operators for processors beside their own compute.

namespace tessera::op {

/// Matmuls by micro-kernels, and constant weights packed for them.
void gemm_implementations();
/// Softmax and reductions along the last axis by vectors, row after row.
void row_implementations();
/// Moves between layouts by tiles in registers.
void layout_move_implementations();

}  // namespace tessera::op
