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

Expr running_sum(const Expr& x) {
  return call_op("cumsum", {x}, make_attrs<ScanopAttrs>([](auto& attrs) {
                   attrs.axis = 0;
                   attrs.dtype = DataType::Int(64);
                 }));
}

/// The last result says where each entry went: as far back as there are empty rows before its own. Rows are in order.
Values sparse_fill(Operation& in) {
  Expr all = call_op("sparse_fill_empty_rows", {in[0], in[1], in[2], in.scalar(3)}), is_empty = make_get_item(all, 2);
  Expr rows = squeeze(slice(in[0], 1, 0, 1), int_array({1}));
  Expr positions = subtract(running_sum(cast(ones_like(rows), DataType::Int(64))), make_scalar(1, DataType::Int(64)));
  Expr before = take(running_sum(cast(is_empty, DataType::Int(64))), rows, 0);
  return {make_get_item(all, 0), make_get_item(all, 1), is_empty, add(positions, before)};
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
