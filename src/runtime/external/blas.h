#pragma once
// Matmuls by a BLAS library.

#include "runtime/ndarray.h"

namespace tessera {

/// True when there is one, or Intel's.
bool has_blas(bool is_mkl);
/// result = left * right, either operand stored transposed, of matrices or batches of them (one matrix serves a whole batch); float32
/// and float64.
void blas_matmul(bool is_mkl, const DLTensor* left, const DLTensor* right, const DLTensor* result, bool trans_a,
                 bool trans_b);

}  // namespace tessera
