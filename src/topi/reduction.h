#pragma once
// Reductions over some or all axes.

#include "topi/operand.h"

namespace tessera::topi {

/// Non-negative axes in rising order; none given means all. An axis out of range is a ValueError.
std::vector<int> reduce_axes(const std::vector<int64_t>& axes, bool all, size_t rank);

struct ReduceOptions {
  std::vector<int64_t> axes;
  bool all_axes = true;  // axes are ignored
  bool keepdims = false;
};

te::Tensor sum(const te::Tensor& data, const ReduceOptions& options);
te::Tensor prod(const te::Tensor& data, const ReduceOptions& options);
te::Tensor min(const te::Tensor& data, const ReduceOptions& options);
te::Tensor max(const te::Tensor& data, const ReduceOptions& options);
te::Tensor all(const te::Tensor& data, const ReduceOptions& options);
te::Tensor any(const te::Tensor& data, const ReduceOptions& options);

/// The position of the least or greatest element; among equals the first, or the last when `last` is set. A NaN is both,
/// as in NumPy. Over several axes it is the position in the flattened axes.
te::Tensor argmin(const te::Tensor& data, const ReduceOptions& options, bool last);
te::Tensor argmax(const te::Tensor& data, const ReduceOptions& options, bool last);
/// The same by two reductions of single values, one for the value and one for its indices, which go by vectors where
/// pairs do not.
te::Tensor two_pass_argmin(const te::Tensor& data, const ReduceOptions& options, bool last);
te::Tensor two_pass_argmax(const te::Tensor& data, const ReduceOptions& options, bool last);

}  // namespace tessera::topi
