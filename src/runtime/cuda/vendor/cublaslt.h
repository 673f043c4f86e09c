#pragma once
// Matmuls by cuBLASLt.

#include "runtime/ndarray.h"

namespace tessera::cuda {

/// What follows the sums, element by element; GELU is its form with tanh.
enum class MatmulActivation : int { None = 0, Relu = 1, Gelu = 2 };

/// out = activation(a * b + bias), of matrices or of batches of them, either of which may be stored transposed; one matrix may serve
/// a whole batch. Rows of more axes than two are one matrix where `b` is a matrix. `bias` (may be null) has an element for each column.
struct VendorMatmul {
  const DLTensor *a = nullptr, *b = nullptr, *bias = nullptr;
  DLTensor* out = nullptr;
  bool trans_a = false, trans_b = false;
  MatmulActivation activation = MatmulActivation::None;
  bool allows_tf32 = false;
  bool measures = false;  // which algorithm is fastest, at the first call of a shape; else cuBLASLt's own guess
};

/// float64, float32, fp16 and bf16, the latter two also to float32; int8 to int32.
void vendor_matmul(const VendorMatmul& call);

}  // namespace tessera::cuda
