#pragma once
// Values between the elements of an image, and operators that look there.

#include "te/tensor.h"

namespace tessera::topi {

/// One of the elements that make up a value along one dimension; an empty weight is one.
struct Tap {
  PrimExpr index, weight;
};
using Taps = std::vector<Tap>;

/// The two neighbours of a position, and the four that a cubic spline goes through (Keys 1981). A position from data
/// may be anything, also infinite or NaN.
Taps linear_taps(const PrimExpr& position, bool is_from_data);
Taps cubic_taps(const PrimExpr& position, double alpha, bool is_from_data);

/// The sum over all combinations of taps, one per dimension, of their weights times what `read` gives for their indices.
PrimExpr blend(const std::vector<Taps>& taps, const std::function<PrimExpr(const std::vector<PrimExpr>&)>& read);

/// The value at `positions` of the dimensions `axes`, between neighbours; `source` says the other indices. Elements
/// outside the data count as zero.
PrimExpr sample_linear(const te::Tensor& data, const Array<PrimExpr>& source, const std::vector<int>& axes,
                       const std::vector<PrimExpr>& positions);

/// (batch, 2, 3) matrices -> (batch, 2, height, width): where each pixel of the target lies, x and then y, in [-1, 1].
te::Tensor affine_grid(const te::Tensor& data, const Array<PrimExpr>& target_shape);

struct GridSampleOptions {
  String method = "bilinear";     // or "nearest", "bicubic"
  String layout = "NCHW";         // or "NCDHW"
  String padding_mode = "zeros";  // or "border", "reflection"
  bool align_corners = true;      // -1 and 1 are the centres of the outermost pixels, else their outer edges
};
/// The data at the positions of `grid` (batch, dimensions, ...), x first.
te::Tensor grid_sample(const te::Tensor& data, const te::Tensor& grid, const GridSampleOptions& options);

/// The greatest of data plus filter over each window: (n, c, h, w) with filters (c, h, w), or in other layouts.
struct DilationOptions {
  Array<PrimExpr> strides, padding, dilations;
  String data_layout, kernel_layout;
  DataType out_dtype;
};
te::Tensor dilation2d(const te::Tensor& data, const te::Tensor& filter, const DilationOptions& options);

}  // namespace tessera::topi
