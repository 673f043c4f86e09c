#pragma once
// Minimal filtering by Cook and Toom, for tiles and kernels of any size: out = A^T ((G g) * (B^T d)) along each dimension.

#include <vector>

#include "topi/nn/conv.h"

namespace tessera::topi {

using Matrix = std::vector<std::vector<double>>;
struct CookToom {
  Matrix a, b, g;  // (alpha, tile), (alpha, alpha), (alpha, kernel size), where alpha = tile + kernel size - 1
};
/// The points are 0, 1, -1, 2, -2, 1/2, ... and infinity; a ValueError where there are not enough of them.
CookToom cook_toom(int tile, int kernel_size);

/// A weight (out, in, kernel...) with its dimensions from `first` on transformed: (extents..., out, in), or
/// (out, in, extents...) where `keeps_order` says so.
te::Tensor cook_toom_weight(const te::Tensor& weight, int tile, size_t first, bool keeps_order, const String& name);

/// Convolution of NCDHW data with a weight (depth, alpha, alpha, out, in); `depth` is alpha, or that of the kernel, along
/// which nothing is transformed then. Strides and dilation are 1.
te::Tensor cook_toom_conv3d(const te::Tensor& data, const te::Tensor& weight, const Array<PrimExpr>& padding,
                            const std::vector<int>& kernel_size, int tile, DataType out_dtype);

}  // namespace tessera::topi
