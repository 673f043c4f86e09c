#pragma once
// Parts of tensors by begin, end and stride, as Python's slices mean them.

#include "topi/operand.h"

namespace tessera::topi {

/// The elements begin, begin + stride, ... of one dimension, `extent` of them; `begin` is never negative.
struct SliceAxis {
  PrimExpr begin, stride, extent;
};

/// What a slice means for a dimension of `size` elements: negative bounds count from the end, bounds outside are brought
/// to the edge. An empty `begin`, `end` or `stride` is the whole dimension's; an `end_is_size` of -1 reaches to the end.
SliceAxis slice_axis(const PrimExpr& size, PrimExpr begin, PrimExpr end, PrimExpr stride, bool end_is_size = false);

/// A 64-bit stride, which may be any number, as one that means the same for dimensions of less than 2^31 elements and that
/// can be negated. Nothing stays nothing.
PrimExpr bounded_stride(const PrimExpr& stride);

/// Numbers for the dimensions `axes`, or for the first ones when `axes` is empty.
struct SliceSpec {
  Array<PrimExpr> begin, end, strides, axes;
  bool end_is_size = false;
};
/// One entry per dimension of `shape`. An axis or a number of entries that does not fit is a TypeError.
std::vector<SliceAxis> slice_axes(const Array<PrimExpr>& shape, const SliceSpec& spec);

te::Tensor strided_slice(const te::Tensor& x, const std::vector<SliceAxis>& slices);
/// The slice whose begin, end and strides (tensors of one dimension) are known at run time: its extents are new variables, at
/// most those of x; what its callers read beyond the slice is the element nearest to it. Without strides they are 1.
te::Tensor dynamic_strided_slice(const te::Tensor& x, const te::Tensor& begin, const te::Tensor& end,
                                 const te::Tensor& strides);
/// x with the elements of v at the indices that the slices name; begin, end and strides are tensors of one dimension.
te::Tensor strided_set(const te::Tensor& x, const te::Tensor& v, const te::Tensor& begin, const te::Tensor& end,
                       const te::Tensor& strides);

}  // namespace tessera::topi
