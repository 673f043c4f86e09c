#pragma once
// Sorting, argsort and top-k by threads of a GPU, in place of the functions of the host that programs call.

#include "topi/gpu/machine.h"
#include "topi/gpu/nest.h"

namespace tessera::topi {

/// Kernels that do what a call of tvm.contrib.sort.sort, argsort or topk does, with the same order of equal elements and NaN. Empty
/// where there are none for it: other functions, dynamic extents, elements of 64 bits, tensors that are not compact.
Stmt device_sort(const Stmt& call, const GpuMachine& machine);

}  // namespace tessera::topi
