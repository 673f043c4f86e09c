#pragma once
// Images of another size: rows are blended by vectors, and what a vector of a result reads of such a row is a few of its
// vectors, shuffled. Indices and weights of columns are known while compiling, or tensors (resample_dynamic.cc).

#include "te/tensor.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Element j of a result along one axis is the sum over i of `weights[i][j] * data[indices[i][j]]`; the element itself where
/// there are no weights, and then there is one i.
struct ResampledAxis {
  std::vector<std::vector<int64_t>> indices;
  std::vector<std::vector<double>> weights;
  bool empty() const { return indices.empty(); }
};

/// The same as tensors that are read at run time.
struct ResampledTables {
  Array<te::Tensor> indices, weights;
};

/// True where 16 results that lie together read elements that do not lie too far apart.
bool can_resample(const ResampledAxis& columns);

/// (..., h, w) to (..., H, W): rows first, then columns. Without `rows`, h stays.
te::Tensor resample(const te::Tensor& x, const ResampledTables& rows, const ResampledAxis& columns, int64_t lanes);
/// The same where columns are tables too. Indices that lie outside the data are those of its first or last element.
te::Tensor resample_at_run_time(const te::Tensor& x, const ResampledTables& rows, const ResampledTables& columns,
                                const Machine& machine);

}  // namespace tessera::topi
