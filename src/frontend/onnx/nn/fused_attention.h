#pragma once
// Attention as com.microsoft has it.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// Attention of (batch, length, queries, keys and values side by side), as com.microsoft's `Attention` has it; the numbers are
/// those of its inputs for a mask, the past, and what is added to scores.
Values attention_of_projections(Operation& in, const Expr& projected, size_t mask, size_t past_input, size_t more);

/// com.microsoft's forms of attention.
Rows fused_attention_rows();

}  // namespace tessera::onnx
