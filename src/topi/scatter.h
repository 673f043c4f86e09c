#pragma once
// Elements written by index. An index outside the tensor is left out, or an error where `check` says so; a negative one
// counts from the end.

#include "topi/operand.h"
#include "topi/safe_index.h"

namespace tessera::topi {

/// out[i, indices[i, j, k], k] combined with updates[i, j, k] for axis 1, the rest as in x. `mode` is "update", "add",
/// "mul", "min" or "max"; of several updates of one element the last counts.
te::Tensor scatter(const te::Tensor& x, const te::Tensor& indices, const te::Tensor& updates, int axis,
                   const String& mode, const IndexCheck& check);
/// Each column of `indices` names the element or slice of x that an update is combined with.
te::Tensor scatter_nd(const te::Tensor& x, const te::Tensor& indices, const te::Tensor& updates, const String& mode,
                      const IndexCheck& check);
/// `value` everywhere but at the indices: a number, a list of them, or rows of one per dimension.
te::Tensor sparse_to_dense(const te::Tensor& indices, const Array<PrimExpr>& shape, const te::Tensor& values,
                           const PrimExpr& value);
/// out[x[i]] = i.
te::Tensor invert_permutation(const te::Tensor& x);

}  // namespace tessera::topi
