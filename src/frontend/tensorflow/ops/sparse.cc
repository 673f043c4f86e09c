// Sparse tensors: indices (count, rank), values and a shape.

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "frontend/tensorflow/shapes.h"
#include "relay/attrs/index.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr added_at(const Expr& data, const Expr& indices, const Expr& values) {
  return call_op("scatter_nd", {data, transpose(indices), values},
                 make_attrs<ScatterNDAttrs>([](auto& attrs) { attrs.mode = "add"; }));
}

/// Inputs: indices, values and shape of a matrix, then another one.
Values sparse_matmul(Operation& in) {
  Expr dense = added_at(full_of(in, make_scalar(0, in.dtype(in[1])), in[2]), in[0], in[1]), other = in[3];
  if (in.flag("adjoint_a")) dense = transpose(dense);
  if (in.flag("adjoint_b")) other = transpose(other);
  return {matmul_like_numpy(in, dense, other)};
}

Values sparse_add(Operation& in) { return {added_at(in[3], in[0], in[1])}; }

Values sparse_fill(Operation& in) {
  Expr all = call_op("sparse_fill_empty_rows", {in[0], in[1], in[2], in.scalar(3)});
  return {make_get_item(all, 0), make_get_item(all, 1), make_get_item(all, 2)};
}

Values sparse_reshape(Operation& in) {
  Expr all = call_op("sparse_reshape", {in[0], in[1], in[2]});
  return {make_get_item(all, 0), make_get_item(all, 1)};
}

}  // namespace

Rows sparse_rows() {
  return {
      {"SparseFillEmptyRows",
       sparse_fill,
       {"output_indices", "output_values", "empty_row_indicator", "reverse_index_map"}},
      {"SparseReshape", sparse_reshape, {"output_indices", "output_shape"}},
      {"SparseTensorDenseAdd", sparse_add},
      {"SparseTensorDenseMatMul", sparse_matmul},
  };
}

}  // namespace tessera::tensorflow
