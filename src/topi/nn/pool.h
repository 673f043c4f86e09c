#pragma once
// The greatest or the mean of each window.

#include "te/tensor.h"

namespace tessera::topi {

enum class PoolKind { Max, Avg };

struct PoolOptions {
  Array<PrimExpr> pool_size, strides, dilation, padding;  // padding: all begins, then all ends
  String layout;                                          // one letter for each dimension
  bool ceil_mode = false;                                 // a window that begins inside but ends outside counts
  bool count_include_pad = false;                         // the mean counts the border too
};

te::Tensor pool(const te::Tensor& data, PoolKind kind, const PoolOptions& options);
/// Windows such that the result has `size` in the spatial dimensions; they may overlap.
te::Tensor adaptive_pool(const te::Tensor& data, PoolKind kind, const Array<PrimExpr>& size, const String& layout);

/// The gradient of a pool's data from that of its result; where several elements of a window are the greatest, the first
/// one gets it.
te::Tensor pool_grad(const te::Tensor& grad, const te::Tensor& data, PoolKind kind, const PoolOptions& options);

/// Positions of the spatial dimensions D, H, W in a layout, in that order.
std::vector<int> spatial_axes(const String& layout, size_t spatial);

}  // namespace tessera::topi
