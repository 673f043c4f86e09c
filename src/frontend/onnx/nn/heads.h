#pragma once
// Tensors of heads (batch, heads, length, size), as attention sees them.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

/// (batch, length, heads * size) -> (batch, heads, length, size).
Expr split_heads(Expr x, int64_t heads);
Expr join_heads(Expr x);
/// The last two dimensions change places.
Expr transposed_matrices(const Expr& x);
/// Numbers from 0 on along one of four dimensions.
Expr counting(int64_t count, size_t axis);
/// The first `turned` elements (0: all) of each head turned by angles, whose cosines and sines lie (..., length, turned / 2).
Expr rotated(Operation& in, const Expr& x, const Expr& cosine, const Expr& sine, int64_t turned, bool is_interleaved);

/// Attention of (batch, length, queries, keys and values side by side), as com.microsoft's `Attention` has it; the numbers are
/// those of its inputs for a mask, the past, and what is added to scores.
Values attention_of_projections(Operation& in, const Expr& projected, size_t mask, size_t past_input, size_t more);

/// com.microsoft's forms of attention.
Rows fused_attention_rows();

}  // namespace tessera::onnx
