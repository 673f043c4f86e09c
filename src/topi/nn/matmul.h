#pragma once
// Matmuls.

#include "te/tensor.h"

namespace tessera::topi {

struct MatmulOptions {
  bool transpose_a = false, transpose_b = false;  // the last two dimensions of the operand are swapped
  DataType out_dtype;
};

/// out[..., i, j] = sum over k of a[..., i, k] * b[k, j], plus bias[j] where a bias is given. `is_dense` says that it
/// is a linear layer, which schedules know by its tag.
te::Tensor matmul(const te::Tensor& a, const te::Tensor& b, const te::Tensor& bias, const MatmulOptions& options,
                  bool is_dense = false);

/// out[..., n] = sum over k of data[..., k] * weight[n, k], plus bias[n] where a bias is given.
te::Tensor dense(const te::Tensor& data, const te::Tensor& weight, const te::Tensor& bias, DataType out_dtype);

/// The same with a weight (units / block, k, block) or (units / block, k / inner, block, inner). `units` is given where the
/// last block is not full.
te::Tensor dense_pack(const te::Tensor& data, const te::Tensor& weight, const te::Tensor& bias, DataType out_dtype,
                      PrimExpr units = PrimExpr());

/// out[b, i, j] = sum over k of x[b, i, k] * y[b, k, j]; a batch of one is repeated.
te::Tensor batch_matmul(const te::Tensor& x, const te::Tensor& y, const MatmulOptions& options);

}  // namespace tessera::topi
