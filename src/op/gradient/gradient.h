#pragma once
// Gradients of operators: for each, the gradients of a call's arguments from that of its value.
//
// They are written with operators whose results follow the shapes of their arguments (zeros_like, reshape_like,
// collapse_sum_like), and where numbers are needed with the types of the call, which are known when a function is
// differentiated.

#include "op/record.h"
#include "relay/make.h"

namespace tessera::op {

using Exprs = Array<Expr>;

/// One operator's row: `call` is the call whose arguments' gradients are wanted, `grad` the gradient of its value.
struct GradientRow {
  const char* name;
  Exprs (*gradient)(const relay::Call* call, const Expr& grad);
};
void set_gradients(std::initializer_list<GradientRow> rows);

/// The type of an argument, a tensor; an extent of it that must be a number.
const TensorTypeNode* arg_type(const relay::Call* call, size_t i);
int64_t known_extent(const TensorTypeNode* type, size_t dimension);
/// A number as shapes and axes have them.
PrimExpr extent(int64_t value);
/// Whether all extents are numbers.
bool is_known(const TensorTypeNode* type);
/// A scalar of the type of argument `i`.
Expr scalar_like(const relay::Call* call, size_t i, double value);
/// Of an operator that copies elements of its first argument to positions that the others say, whatever they are.
Exprs copied_gradient(const relay::Call* call, const Expr& grad);
/// Zeros for every argument.
Exprs zero_gradients(const relay::Call* call, const Expr& grad);
/// An extent of a tensor, as a number without dimensions: a constant where it is known.
Expr extent_of(const Expr& tensor, int dimension, DataType dtype);
/// How many elements a tensor has, likewise.
Expr element_count_of(const Expr& tensor, DataType dtype);

// Elements by index: writes combined with what is there by `mode`, sums along one axis, reads along one axis.
Expr scatter_nd(const Expr& data, const Expr& indices, const Expr& updates, const char* mode);
Expr scatter_add(const Expr& data, const Expr& indices, const Expr& updates, int axis);
Expr gather(const Expr& data, const Expr& indices, int axis);
Expr gather_nd(const Expr& data, const Expr& indices);
/// The gradient summed to a number: of an argument that was put everywhere.
Expr summed_to_scalar(const Expr& grad);

}  // namespace tessera::op
