#pragma once
// Implementations of operators for processors beside their own compute.

#include "relay/graph_environment.h"

namespace tessera::op {

/// Matmuls by micro-kernels.
void gemm_implementations();
/// A dense layer or matmul with a constant weight as one with the weight in the panels that they read.
relay::Expr pack_weight(const Attrs& attrs, const Array<relay::Expr>& args, const Array<ObjectRef>& placeholders,
                        const Type& type, const relay::GraphEnvironment& environment);
/// Softmax and reductions along the last axis by vectors, row after row.
void row_implementations();
/// Moves between layouts by tiles in registers.
void layout_move_implementations();

}  // namespace tessera::op
