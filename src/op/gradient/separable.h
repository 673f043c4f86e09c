#pragma once
// Gradients of operators that are linear and treat their axes one by one (resizing, borders, averages over windows): along
// each axis the gradient is multiplied by the matrix of what elements contribute to results. The matrix is the operator
// itself applied to the identity, a constant that is folded.

#include "op/gradient/gradient.h"

namespace tessera::op {

/// The identity matrix of that size.
Expr identity_matrix(int64_t size, DataType dtype);
/// The identity matrix as large as an extent of a tensor; computed by the program where that is not known.
Expr identity_of_extent(const Expr& tensor, int dimension, DataType dtype);
/// A tensor of `rank` dimensions with the one at `axis` multiplied by `matrix`, whose rows are the results:
/// out[..., i, ...] = sum over o of x[..., o, ...] * matrix[i, o].
Expr times_matrix(const Expr& x, size_t rank, int axis, const Expr& matrix);

/// What the operator does along one axis: from the identity, as channels of one sample (1, n, n), to (1, n, results).
using AlongAxis = std::function<Expr(const Expr& identity, size_t which)>;
/// The gradient of an operator that is linear along each of `axes` of argument 0, in the type of that argument.
Expr separable_gradient(const relay::Call* call, const Expr& grad, const std::vector<int>& axes,
                        const AlongAxis& along);

}  // namespace tessera::op
