#pragma once
// Sparse matrices in compressed rows: data, column indices and where each row begins. Data of one dimension is CSR; of three,
// (entries, height, width), BSR, whose entries are dense blocks. Whatever the indices are, nothing outside the tensors is
// read or written.

#include "ir/prim/ops.h"
#include "te/tensor.h"

namespace tessera::topi {

struct SparseMatrix {
  te::Tensor data, indices, indptr;
  /// Height and width of an entry.
  PrimExpr block(int i) const { return data->shape.size() == 3 ? data->shape[i + 1] : PrimExpr(1); }
  PrimExpr rows() const { return (indptr->shape[0] - 1) * block(0); }
};

/// dense (m, k) times the transpose of the matrix (n, k): (m, n); (n, m) where the sparse operand `is_left`.
te::Tensor sparse_dense(const te::Tensor& dense, const SparseMatrix& matrix, bool is_left);
/// The sum of a dense matrix and one in CSR.
te::Tensor sparse_add(const te::Tensor& dense, const SparseMatrix& matrix);
/// The three tensors of the transpose of a square matrix in CSR.
Array<te::Tensor> sparse_transpose(const SparseMatrix& matrix);
/// Convolution with a weight (channels, kernel size * in channels) of stride 1: 1x1, or 3x3 with padding 1. Columns of a 3x3
/// weight are in the order (row, column, channel) for NHWC data, (channel, row, column) for NCHW.
te::Tensor sparse_conv2d(const te::Tensor& data, const SparseMatrix& weight, bool is_nhwc, int kernel_size);

}  // namespace tessera::topi
