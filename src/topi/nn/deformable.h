#pragma once
// Convolutions that look beside the grid, and the likeness of displaced images.

#include "topi/nn/conv.h"

namespace tessera::topi {

/// A convolution over two dimensions whose kernel elements are moved by offsets (n, deformable_groups * kernel size *
/// 2, y, x), y first.
te::Tensor deformable_conv2d(const te::Tensor& data, const te::Tensor& offset, const te::Tensor& weight,
                             int deformable_groups, const ConvOptions& options);

struct CorrelationOptions {
  int kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1;
  Array<PrimExpr> padding;
  bool is_multiply = true;  // products of patches, else absolute differences
};
/// Of (n, c, h, w): the mean over patches of two images, one channel for each displacement of the second.
te::Tensor correlation(const te::Tensor& data1, const te::Tensor& data2, const CorrelationOptions& options);
/// Channels, height and width of the result for images of that height and width.
Array<PrimExpr> correlation_extents(const PrimExpr& height, const PrimExpr& width, const CorrelationOptions& options);

}  // namespace tessera::topi
