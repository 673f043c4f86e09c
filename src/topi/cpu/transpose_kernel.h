#pragma once
// A square of elements transposed in registers.

#include "te/tensor_compute.h"

namespace tessera::topi {

/// B[i, j] = A[j, i] for i and j below `lanes`, a power of two, as an intrinsic for `Stage.tensorize`: `lanes` vectors are
/// loaded, exchanged in pairs and stored. Rows of both may lie anywhere, elements of a row lie together.
te::TensorIntrin transpose_intrin(DataType dtype, int lanes, bool interleaves);

/// The lanes of the first half (or the second) of each of two vectors in turns: 0, n, 1, n + 1, ...
std::vector<int64_t> interleaved_lanes(int64_t lanes, bool is_second_half);

}  // namespace tessera::topi
