#pragma once
// Tensors of heads (batch, heads, length, size), as attention sees them.

#include <cmath>

#include "frontend/common/node_context.h"

namespace tessera::frontend {

inline constexpr double kNever = -INFINITY;  // added to a score that must not count

/// (batch, length, heads * size) -> (batch, heads, length, size).
Expr split_heads(Expr x, int64_t heads);
Expr merge_heads(Expr x);
/// The last two dimensions, swapped.
Expr transposed_matrices(const Expr& x);
/// Numbers from 0 on along one of four dimensions.
Expr counting(int64_t count, size_t axis);
/// The same as many as heads `x` have positions.
Expr counting(const NodeContext& in, const Expr& x, size_t axis);
/// The first `turned` elements (0: all) of each head turned by angles, whose cosines and sines lie (..., length, turned / 2).
Expr rotated(const NodeContext& in, const Expr& x, const Expr& cosine, const Expr& sine, int64_t turned,
             bool is_interleaved);

}  // namespace tessera::frontend
