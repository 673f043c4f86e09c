#pragma once
// Non-maximum suppression by threads of a GPU.

#include "te/tensor.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// What all_class_non_max_suppression of topi/vision/nms.h gives, by kernels. Empty for dynamic extents, and where the pairs of boxes
/// would take too much device memory.
Array<te::Tensor> device_all_class_nms(const te::Tensor& boxes, const te::Tensor& scores,
                                       const te::Tensor& max_per_class, const te::Tensor& iou_threshold,
                                       const te::Tensor& score_threshold, bool as_onnx, const GpuMachine& machine);

}  // namespace tessera::topi
