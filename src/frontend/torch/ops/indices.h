#pragma once
// Lists of indices, one tensor for each axis that is indexed.

#include "frontend/torch/importer.h"

namespace tessera::torch {

struct IndexList {
  std::vector<int> axes;
  std::vector<Expr> indices;  // int64, counted from the front
};
/// The argument "indices"; a tensor of bools counts as the indices where it is set.
IndexList index_list(const Operation& in, const Expr& x);
/// Negative ones are counted from the end of the axis.
Expr wrapped_index(const Operation& in, const Expr& index, const Expr& x, int axis);
/// (number of indices, dimensions that they are broadcast to...)
Expr broadcast_tuples(const Operation& in, std::vector<Expr> indices);

}  // namespace tessera::torch
