#pragma once
// Tensors made of repeated elements, of their positions or of their extents.

#include "topi/operand.h"

namespace tessera::topi {

/// The whole tensor `reps` times along each dimension; the shorter of shape and reps is filled with ones in front.
te::Tensor tile(const te::Tensor& x, const Array<PrimExpr>& reps);
/// Each element `count` times along `axis`.
te::Tensor repeat(const te::Tensor& x, const PrimExpr& count, int axis);
/// Windows of `window` elements that start every `strides` elements of the dimensions from `axis` on: first the windows,
/// then what is inside.
te::Tensor sliding_window(const te::Tensor& x, int axis, const Array<PrimExpr>& window, const Array<PrimExpr>& strides);
/// start, start + step, ...: `count` elements.
te::Tensor arange(const PrimExpr& start, const PrimExpr& step, const PrimExpr& count, DataType dtype);
/// Coordinates of a grid over vectors (numbers count as vectors of one); "xy" swaps the first two dimensions.
Array<te::Tensor> meshgrid(const Array<te::Tensor>& vectors, bool swaps);
/// The extents of x as a vector, and their product.
te::Tensor shape_of(const te::Tensor& x, DataType dtype);
te::Tensor ndarray_size(const te::Tensor& x, DataType dtype);
/// Sums over what was broadcast from `shape`.
te::Tensor collapse_sum(const te::Tensor& x, const Array<PrimExpr>& shape);

}  // namespace tessera::topi
