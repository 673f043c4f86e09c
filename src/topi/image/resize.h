#pragma once
// Images of another size, over one, two or three spatial dimensions.

#include "te/tensor.h"

namespace tessera::topi {

struct ResizeOptions {
  Array<PrimExpr> size;  // of the result, one for each spatial dimension
  Array<PrimExpr> roi;   // the part to look at, in fractions: all begins, then all ends; for "tf_crop_and_resize"
  String layout;
  String method = "linear";               // or "nearest_neighbor", "cubic"
  String coordinates = "half_pixel";      // how positions of the result and of the data correspond
  String rounding;                        // which neighbour is the nearest; "": as usual for the coordinates
  double cubic_alpha = -0.5;              // of the cubic spline
  bool cubic_exclude = false;             // taps outside the image have no weight
  double extrapolation_value = 0;         // outside the image, for "tf_crop_and_resize"
  DataType out_dtype = DataType::Void();  // as the data where it is not given
};

te::Tensor resize(const te::Tensor& data, const ResizeOptions& options);

/// One image for each box (y1, x1, y2, x2), cropped from image `box_indices` of the batch.
te::Tensor crop_and_resize(const te::Tensor& data, const te::Tensor& boxes, const te::Tensor& box_indices,
                           const ResizeOptions& options);

/// How nn.upsampling is written as a resize: its method without "bi" or "tri", and the coordinates it means.
ResizeOptions upsampling_options(const String& method, const String& layout, bool align_corners);
/// The extent times the scale, rounded.
PrimExpr scaled_extent(const PrimExpr& extent, double scale);

}  // namespace tessera::topi
