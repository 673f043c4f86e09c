#pragma once
// Sparse tensors as lists of indices, one row per element.

#include "topi/operand.h"

namespace tessera::topi {

/// Indices after a reshape from one shape to another (vectors; one number of the second may be -1), and the second shape
/// with that number filled in.
Array<te::Tensor> sparse_reshape(const te::Tensor& indices, const te::Tensor& from, const te::Tensor& to);
/// Indices and values, ordered by row, with one entry of `value` for each of `rows` rows that has none, and which rows
/// those are. `count` is the number of entries of the result.
Array<te::Tensor> sparse_fill_empty_rows(const te::Tensor& indices, const te::Tensor& values, const PrimExpr& value,
                                         const PrimExpr& rows, const PrimExpr& count);
/// How many entries that gives: int64, without dimensions. `shape` is the dense shape.
te::Tensor filled_count(const te::Tensor& indices, const te::Tensor& shape);

}  // namespace tessera::topi
