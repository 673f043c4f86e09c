#pragma once
// Convolutions of 3x3 kernels by Winograd's minimal filtering: fewer multiplications for a little accuracy.

#include "topi/nn/conv.h"

namespace tessera::topi {

/// The annotation of the stages of such a convolution; its value is one of the names below, in this order.
inline constexpr const char* kWinogradStage = "winograd_stage";
inline constexpr const char *kWinogradPadded = "padded", *kWinogradColumns = "columns", *kWinogradData = "data",
                            *kWinogradSums = "sums", *kWinogradProducts = "products", *kWinogradRows = "rows",
                            *kWinogradResult = "result";

/// U = G w G^T for each filter of a weight (out, in, 3, 3): (tile + 2, tile + 2, out, in). Tiles of 2 and of 4 are known.
te::Tensor winograd_weight(const te::Tensor& weight, int tile);

/// The convolution with a weight that was transformed so: (tile + 2, tile + 2, out, in), or
/// (tile + 2, tile + 2, out / b, in, b). Tiles of the padded data are transformed (B^T d B), multiplied element by element
/// with U and summed over the in channels, and transformed back (A^T m A). Lavin and Gray, "Fast Algorithms for
/// Convolutional Neural Networks", 2015. Strides and dilation must be 1, groups too; data is NCHW or NCHW[b]c.
te::Tensor winograd_conv(const te::Tensor& data, const te::Tensor& weight, const ConvOptions& options, int tile);

}  // namespace tessera::topi
