#pragma once
// How Resize and Upsample sample.

#include "frontend/onnx/importer.h"

namespace tessera::onnx {

struct ResizeOptions {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor", policy = "stretch";
  double cubic = -0.75, outside = 0;
  bool antialias = false, exclude_outside = false;
};

/// Where extents, sizes or scales are known only at run time. `asked`: a size or a scale for each of the axes.
Expr resized_at_run_time(Operation& in, const ResizeOptions& options, const std::vector<int64_t>& axes,
                         const Expr& asked, bool by_size);

}  // namespace tessera::onnx
