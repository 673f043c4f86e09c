// Layers with a sparse operand: nn.sparse_dense, nn.sparse_add, nn.sparse_transpose, nn.sparse_conv2d and
// nn.internal.sparse_dense_padded.

#include "topi/nn/sparse.h"

#include "ir/prim/ops.h"
#include "op/least_extent.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/sparse.h"

namespace tessera::op {
namespace {

using relay::SparseConv2DAttrs;
using relay::SparseDenseAttrs;
register_types<SparseConv2DAttrs, SparseDenseAttrs> sparse_types;

topi::SparseMatrix matrix_of(const Tensors& in, size_t first) { return {in[first], in[first + 1], in[first + 2]}; }

/// Whether data, indices and indptr from argument `first` on are known; a TypeError where they are no matrix.
bool check_matrix(TypeQuery& query, int first, bool takes_blocks) {
  for (int i = 0; i < query.size(); ++i)
    if (!query.tensor(i)) return false;
  if (!takes_blocks || rank_of(query.tensor(first)) != 3) require_rank(query, first, "sparse_data", 1);
  for (int i : {first + 1, first + 2}) {
    require_rank(query, i, i == first + 1 ? "sparse_indices" : "sparse_indptr", 1);
    require_integers(query, i, i == first + 1 ? "sparse_indices" : "sparse_indptr");
  }
  if (!may_reach(query.tensor(first + 2)->shape[0], 1))
    throw Error(TypeError) << "sparse_indptr has no elements; it has one more than there are rows";
  return true;
}

/// The number of rows of the matrix from argument `first` on.
PrimExpr rows_of(TypeQuery& query, int first) {
  const TensorTypeNode *data = query.tensor(first), *indptr = query.tensor(first + 2);
  return on_extent(indptr->shape[0], [&](const PrimExpr& count) {
    PrimExpr blocks = count - 1;
    return rank_of(data) == 3 ? blocks * data->shape[1] : blocks;
  });
}

bool dense_type(TypeQuery& query) {
  if (!check_matrix(query, 1, true)) return false;
  require_rank(query, 0, "dense_data", 2);
  auto* dense = query.tensor(0);
  PrimExpr rows = rows_of(query, 1);
  const bool is_left = query.attrs_as<SparseDenseAttrs>()->sparse_lhs;
  query.result(TensorType(is_left ? Array<PrimExpr>{rows, dense->shape[0]} : Array<PrimExpr>{dense->shape[0], rows},
                          dense->dtype));
  return true;
}

Tensors sparse_dense(const Attrs& attrs, const Tensors& in, const Type&) {
  return {topi::sparse_dense(in[0], matrix_of(in, 1), attrs.as<SparseDenseAttrs>()->sparse_lhs)};
}

bool add_type(TypeQuery& query) {
  if (!check_matrix(query, 1, false)) return false;
  require_rank(query, 0, "dense_data", 2);
  query.result(query.type(0));
  return true;
}

Tensors sparse_add(const Attrs&, const Tensors& in, const Type&) { return {topi::sparse_add(in[0], matrix_of(in, 1))}; }

bool transpose_type(TypeQuery& query) {
  if (!check_matrix(query, 0, false)) return false;
  if (!relay::may_equal(query.tensor(0)->shape[0], query.tensor(1)->shape[0]))
    throw Error(TypeError) << "sparse_data is " << to_text(query.type(0)) << ", but sparse_indices is "
                           << to_text(query.type(1)) << ": their numbers of entries differ";
  query.result(tuple_type({query.type(0), query.type(1), query.type(2)}));
  return true;
}

Tensors sparse_transpose(const Attrs&, const Tensors& in, const Type&) {
  return topi::sparse_transpose(matrix_of(in, 0));
}

bool conv2d_type(TypeQuery& query) {
  if (!check_matrix(query, 1, true)) return false;
  require_rank(query, 0, "dense_data", 4);
  auto* attrs = query.attrs_as<SparseConv2DAttrs>();
  if (attrs->layout != "NHWC" && attrs->layout != "NCHW")
    throw Error(TypeError) << "layout is " << attrs->layout << ", but must be NHWC or NCHW";
  for (const PrimExpr& extent : attrs->kernel_size)
    if (const int64_t n = constant_of(extent, "kernel_size"); n != 1 && n != 3)
      throw Error(TypeError) << "kernel_size is " << to_text(attrs->kernel_size) << ", but must be 1 or 3 a side";
  Array<PrimExpr> shape = query.tensor(0)->shape;
  shape.set(attrs->layout == "NHWC" ? 3 : 1, rows_of(query, 1));
  query.result(TensorType(shape, query.tensor(0)->dtype));
  return true;
}

Tensors sparse_conv2d(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<SparseConv2DAttrs>();
  const int kernel_size = static_cast<int>(constant_of(attrs->kernel_size[0], "kernel_size"));
  return {topi::sparse_conv2d(in[0], matrix_of(in, 1), attrs->layout == "NHWC", kernel_size)};
}

/// The names of the inputs of a record that takes a dense tensor, where it has one, and a matrix.
struct Inputs {
  const char *dense = "dense_data", *dense_type = "nD Tensor";
  const char *data = "sparse_data", *data_type = "1D or 3D Tensor", *indices = "sparse_indices",
             *indptr = "sparse_indptr";
};

OpRecord sparse_record(const char* name, const char* doc, const Inputs& inputs = {}) {
  OpRecord record(name);
  if (inputs.dense) record.input(inputs.dense, "the dense operand", inputs.dense_type);
  return record.doc(doc)
      .input(inputs.data, "the entries: numbers, or dense blocks", inputs.data_type)
      .input(inputs.indices, "the column of each entry", "1D Tensor")
      .input(inputs.indptr, "where the entries of each row begin", "1D Tensor")
      .support_level(1);
}

}  // namespace

static void sparse_records() {
  sparse_record(
      "nn.sparse_dense",
      "Linear layer of which one operand is sparse (CSR or BSR): the weight, or the data where sparse_lhs says so.")
      .attrs<SparseDenseAttrs>()
      .type("SparseDense", dense_type)
      .fusion(Fusion::OutputElementwise)
      .compute(sparse_dense);
  sparse_record("nn.internal.sparse_dense_padded",
                "Linear layer with a sparse weight whose rows are padded with zeros.",
                {"data", "nD Tensor", "weight_data", "1D Tensor", "weight_indices", "weight_indptr"})
      .attrs<SparseDenseAttrs>()
      .type("SparseDense", dense_type)
      .fusion(Fusion::OutputElementwise)
      .strategy_name("sparse_dense_padded")
      .compute(sparse_dense);
  sparse_record("nn.sparse_add", "The sum of a dense matrix and one in CSR.",
                {"dense_data", "2D Tensor", "sparse_data", "1D Tensor"})
      .type("SparseAdd", add_type)
      .fusion(Fusion::Opaque)
      .compute(sparse_add);
  sparse_record("nn.sparse_transpose", "The transpose of a square matrix in CSR.",
                {nullptr, nullptr, "sparse_data", "1D Tensor"})
      .type("SparseTranspose", transpose_type)
      .fusion(Fusion::OutputElementwise)
      .compute(sparse_transpose);
  sparse_record("nn.sparse_conv2d", "Convolution of stride 1 with a sparse weight: 1x1, or 3x3 with padding 1.")
      .attrs<SparseConv2DAttrs>()
      .type("SparseConv2D", conv2d_type)
      .fusion(Fusion::OutputElementwise)
      .compute(sparse_conv2d);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily sparse_family{sparse_records};

}  // namespace tessera::op
