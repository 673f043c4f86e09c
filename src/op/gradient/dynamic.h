#pragma once
// Gradients by shapes that are values of the program, for operators whose extents are known at run time.

#include "op/gradient/gradient.h"

namespace tessera::op {

/// The shape as int64 numbers of the program.
Expr shape_vector_of(const Expr& tensor);
/// Zeros in the shape of `like` with `part` where the slice says; begin, end and strides are tensors.
Expr placed_by(const Expr& like, const Expr& part, const Expr& begin, const Expr& end, const Expr& strides);
/// The part of `x` that begins there and has the shape of `like`.
Expr part_like(const Expr& x, const Expr& begin, const Expr& like, int rank);
/// The gradient of what was laid side by side `reps` times along each dimension; `reps` has `count` numbers.
Expr untiled(const Expr& grad, const Expr& data, int rank, const Expr& reps, int count);

}  // namespace tessera::op
