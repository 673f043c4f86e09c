// Sparse tensors as lists of indices.

#include "topi/sparse.h"
#include "ir/prim/ops.h"
#include "op/dyn/shapes.h"
#include "op/records.h"

namespace tessera::op {
namespace {

bool sparse_reshape_type(TypeQuery& query) {
  for (int i = 0; i < 3; ++i)
    if (!query.tensor(i)) return false;
  auto *indices = query.tensor(0), *shape = query.tensor(2);
  require_integers(query, 0, "sparse_indices");
  require_rank(query, 0, "sparse_indices", 2);
  vector_length(query, 1, "prev_shape");
  vector_length(query, 2, "new_shape");
  query.result(tuple_type({TensorType({indices->shape[0], shape->shape[0]}, indices->dtype), query.type(2)}));
  return true;
}

bool fill_type(TypeQuery& query) {
  for (int i = 0; i < 4; ++i)
    if (!query.tensor(i)) return false;
  auto* indices = query.tensor(0);
  require_integers(query, 0, "sparse_indices");
  require_rank(query, 0, "sparse_indices", 2);
  require_rank(query, 1, "sparse_values", 1);
  if (!relay::may_equal(indices->shape[0], query.tensor(1)->shape[0]))
    throw Error(TypeError) << "sparse_indices is " << to_text(query.type(0)) << ", but sparse_values is "
                           << to_text(query.type(1)) << ": their numbers of entries differ";
  vector_length(query, 2, "dense_shape");
  require_rank(query, 3, "default_value", 0);
  query.result(
      tuple_type({TensorType({any_extent(), indices->shape[1]}, indices->dtype),
                  TensorType({any_extent()}, query.tensor(1)->dtype), TensorType({any_extent()}, DataType::Bool())}));
  return true;
}

Tensors fill(const Attrs&, const Tensors& in, const Type& out) {
  auto* fields = out.as<TupleType>();
  PrimExpr count = tensor_of(fields->fields_[0])->shape[0], rows = tensor_of(fields->fields_[2])->shape[0];
  return topi::sparse_fill_empty_rows(in[0], in[1], te::load(in[3], {}), rows, count);
}

Tensors fill_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>&) {
  te::Tensor count = topi::filled_count(in[0], in[2]);
  PrimExpr width = in[0]->shape[1];
  auto entries = [&](int64_t i) { return i ? cast(DataType::Int(64), width) : te::load(count, {}); };
  return {shape_vector(2, entries), shape_vector(1, entries),
          shape_vector(1, [&](int64_t) { return int64_at(in[2], 0); })};
}

}  // namespace

static void sparse_records() {
  OpRecord("sparse_reshape")
      .doc("Indices of a sparse tensor after a reshape, and the shape with -1 filled in.")
      .input("sparse_indices", "the indices, one row each")
      .input("prev_shape", "the shape before")
      .input("new_shape", "the shape after")
      .support_level(3)
      .type("sparse_reshape", sparse_reshape_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return topi::sparse_reshape(in[0], in[1], in[2]); });
  OpRecord("sparse_fill_empty_rows")
      .doc("Indices and values with one default entry for each row that has none, and which rows those were.")
      .input("sparse_indices", "the indices, ordered by row")
      .input("sparse_values", "the values")
      .input("dense_shape", "the shape of the whole tensor")
      .input("default_value", "the value of new entries")
      .support_level(3)
      .type("sparse_fill_empty_rows", fill_type)
      .fusion(Fusion::Opaque)
      .compute(fill)
      .shape({1, 1, 1, 1}, fill_shape);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily sparse_family{sparse_records};

}  // namespace tessera::op
