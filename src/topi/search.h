#pragma once
// Cumsum and cumprod, sorting, and where things are.

#include "topi/operand.h"

namespace tessera::topi {

/// Sums (or products) of the elements up to each one along `axis`; `exclusive` ones leave out the element itself.
te::Tensor scan(const te::Tensor& x, int axis, bool is_product, bool exclusive, DataType dtype);

/// Indices that sort the elements along `axis`, equal ones in their order; a NaN comes after all numbers.
te::Tensor argsort(const te::Tensor& x, int axis, bool ascends, DataType dtype);
te::Tensor sort(const te::Tensor& x, int axis, bool ascends);
/// The first `count` values, indices or both in that order.
Array<te::Tensor> topk(const te::Tensor& x, const PrimExpr& count, int axis, const String& what, bool ascends,
                       DataType dtype);
/// Where each value belongs in a sorted sequence, before ("left") or after equal elements. The sequence has one
/// dimension, or as many as values: then rows match.
te::Tensor searchsorted(const te::Tensor& sequence, const te::Tensor& values, bool right, DataType dtype);
/// The different elements of a vector, the first index of each, where each element went among them, how many they are,
/// and how often each occurs.
Array<te::Tensor> unique(const te::Tensor& x, bool sorted, bool with_counts);

/// Indices of the elements that are not zero, `count` rows; and how many there are.
te::Tensor argwhere(const te::Tensor& condition, const PrimExpr& count);
te::Tensor count_nonzero(const te::Tensor& condition);

}  // namespace tessera::topi
