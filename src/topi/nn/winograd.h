#pragma once
// Convolutions by Winograd's minimal filtering along axes of three kernel elements: fewer multiplications for a little accuracy.

#include "topi/nn/conv.h"

namespace tessera::topi {

/// The annotation of the stages of such a convolution; its value is one of the names below, in this order.
inline constexpr const char* kWinogradStage = "winograd_stage";
inline constexpr const char *kWinogradPadded = "padded", *kWinogradColumns = "columns", *kWinogradData = "data",
                            *kWinogradSums = "sums", *kWinogradProducts = "products", *kWinogradRows = "rows",
                            *kWinogradResult = "result";

/// The annotation of the stage "rows": the spatial axes that are transformed.
inline constexpr const char* kWinogradAxes = "winograd_axes";
/// And the dilation along each of them.
inline constexpr const char* kWinogradPhases = "winograd_phases";

/// Along which spatial axes a convolution is Winograd's, one or two of kernels of 3 elements, and how many results a tile has
/// along each: 2 or 4. Along the others it is a sum over the elements of the kernel, as ever.
struct WinogradForm {
  int tile = 4;
  std::vector<size_t> axes;
};

/// A weight (out, in, kernel...) with each filter transformed along the axes of the form (U = G w G^T):
/// (tile + 2 for each of them, the kernel's other extents, out, in).
te::Tensor winograd_weight(const te::Tensor& weight, const WinogradForm& form);

/// The convolution with a weight that was transformed so, or as (tile + 2..., kernel..., out / b, in, b). Tiles of the padded data are
/// transformed (B^T d B), multiplied element by element with U and summed over the in channels and the other elements of the
/// kernel, and transformed back (A^T m A). Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. Along the axes of
/// the form strides must be 1; dilated ones are a convolution for each phase of the data. In groups `in` is that of one, and blocks of results lie in one. Channels of the data are the second axis, and may be in blocks.
te::Tensor winograd_conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options,
                         const WinogradForm& form);

}  // namespace tessera::topi
