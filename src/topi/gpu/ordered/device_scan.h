#pragma once
// Cumulative sums and products by threads of a GPU.

#include "te/tensor.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// What scan of topi/search.h gives, by kernels; sums of fp16 and bf16 are float32. Empty for dynamic extents.
te::Tensor device_scan(const te::Tensor& x, int axis, bool is_product, bool exclusive, DataType dtype,
                       const GpuMachine& machine);

}  // namespace tessera::topi
