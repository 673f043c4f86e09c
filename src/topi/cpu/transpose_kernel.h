#pragma once
// A square of elements turned over in registers.

#include "te/tensor_compute.h"

namespace tessera::topi {

/// B[i, j] = A[j, i] for i and j below `lanes`, a power of two, as an intrinsic for `Stage.tensorize`: `lanes` vectors are
/// loaded, exchanged in pairs and stored. Rows of both may lie anywhere, elements of a row lie together.
te::TensorIntrin transpose_intrin(DataType dtype, int lanes);

}  // namespace tessera::topi
