#pragma once
// Regions of interest (image, x1, y1, x2, y2), each brought to one size.

#include "te/tensor.h"

namespace tessera::topi {

struct RoiOptions {
  Array<PrimExpr> pooled_size;
  double spatial_scale = 1;  // of the data against the coordinates of the regions
  int sample_ratio = -1;     // samples of a bin along each dimension; not positive: as many as elements it covers
  String layout = "NCHW";
  bool is_max = false;         // the greatest sample of a bin, else their mean
  bool is_half_pixel = false;  // regions are shifted by half an element and may be smaller than one
};

/// Bins are sampled between the elements.
te::Tensor roi_align(const te::Tensor& data, const te::Tensor& rois, const RoiOptions& options);
/// The greatest element of each bin; a bin that lies outside gives 0.
te::Tensor roi_pool(const te::Tensor& data, const te::Tensor& rois, const RoiOptions& options);

}  // namespace tessera::topi
