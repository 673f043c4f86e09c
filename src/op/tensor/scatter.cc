// Elements written by index.

#include "topi/scatter.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/index.h"

namespace tessera::op {
namespace {

using relay::may_equal;
using relay::ScatterAddAttrs;
using relay::ScatterAttrs;
using relay::ScatterNDAttrs;
using relay::SparseToDenseAttrs;

void require_updates(const TypeQuery& query) {
  if (query.tensor(0)->dtype != query.tensor(2)->dtype)
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", but updates is " << to_text(query.type(2))
                           << ": their types differ";
  require_integers(query, 1, "indices");
}

template <class A>
bool scatter_type(TypeQuery& query) {
  auto *data = query.tensor(0), *indices = query.tensor(1), *updates = query.tensor(2);
  if (!data || !indices || !updates) return false;
  require_updates(query);
  require_rank(query, 1, "indices", rank_of(data));
  require_rank(query, 2, "updates", rank_of(data));
  int axis = normal_axis(query.attrs_as<A>()->axis, rank_of(data));
  for (int i = 0; i < rank_of(data); ++i)
    if (const int64_t *have = as_int(data->shape[i]), *written = as_int(indices->shape[i]);
        i != axis && have && written && *written > *have)
      throw Error(TypeError) << "data is " << to_text(query.type(0)) << " and indices is " << to_text(query.type(1))
                             << ": indices may be longer only in axis " << axis;
  for (int i = 0; i < rank_of(data); ++i)
    if (!may_equal(indices->shape[i], updates->shape[i]))
      throw Error(TypeError) << "indices is " << to_text(query.type(1)) << ", but updates is " << to_text(query.type(2))
                             << ": their shapes differ";
  query.result(query.type(0));
  return true;
}

bool scatter_nd_type(TypeQuery& query) {
  auto *data = query.tensor(0), *indices = query.tensor(1), *updates = query.tensor(2);
  if (!data || !indices || !updates) return false;
  require_updates(query);
  if (indices->shape.empty()) throw Error(TypeError) << "indices must have at least one dimension";
  int width = static_cast<int>(constant_of(indices->shape[0], "the first extent of indices"));
  Array<PrimExpr> want(indices->shape.begin() + 1, indices->shape.end());
  if (width > rank_of(data))
    throw Error(TypeError) << "indices of " << width << " numbers do not fit data, which is " << to_text(query.type(0));
  for (int i = width; i < rank_of(data); ++i) want.push_back(data->shape[i]);
  bool fits = want.size() == updates->shape.size();
  for (size_t i = 0; fits && i < want.size(); ++i) fits = may_equal(want[i], updates->shape[i]);
  if (!fits)
    throw Error(TypeError) << "updates is " << to_text(query.type(2)) << ", but its shape must be " << to_text(want);
  query.result(query.type(0));
  return true;
}

bool sparse_to_dense_type(TypeQuery& query) {
  auto *indices = query.tensor(0), *values = query.tensor(1), *rest = query.tensor(2);
  if (!indices || !values || !rest) return false;
  auto* attrs = query.attrs_as<SparseToDenseAttrs>();
  require_integers(query, 0, "sparse_indices");
  require_rank(query, 2, "default_value", 0);
  int rank = static_cast<int>(attrs->output_shape.size());
  if (rank_of(indices) > 2 || rank_of(values) > 1 || (rank_of(indices) < 2 && rank != 1))
    throw Error(TypeError) << "sparse_indices is " << to_text(query.type(0)) << " and sparse_values is "
                           << to_text(query.type(1)) << ": they do not fit a result of " << rank << " dimensions";
  if (rank_of(indices) == 2 && !may_equal(indices->shape[1], PrimExpr(rank)))
    throw Error(TypeError) << "sparse_indices is " << to_text(query.type(0)) << ", but needs " << rank
                           << " numbers in a row";
  query.result(TensorType(attrs->output_shape, values->dtype));
  return true;
}

bool permutation_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  require_integers(query, 0, "data");
  require_rank(query, 0, "data", 1);
  query.result(query.type(0));
  return true;
}

template <class A>
Tensors scatter(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<A>();
  const char* mode = std::is_same_v<A, ScatterAddAttrs> ? "add" : "update";
  return {topi::scatter(in[0], in[1], in[2], normal_axis(attrs->axis, rank_of(in[0])), mode, {attrs->checked_as})};
}

}  // namespace

static void scatter_records() {
  OpRecord("scatter")
      .doc("The data with updates written where the indices point along one axis.")
      .input("data", "the input")
      .input("indices", "indices along the axis")
      .input("updates", "what is written there")
      .support_level(10)
      .type("Scatter", scatter_type<ScatterAttrs>)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .compute(scatter<ScatterAttrs>);
  OpRecord("scatter_add")
      .doc("The data with updates added where the indices point along one axis.")
      .input("data", "the input")
      .input("indices", "indices along the axis")
      .input("updates", "what is added there")
      .support_level(10)
      .type("ScatterAdd", scatter_type<ScatterAddAttrs>)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .compute(scatter<ScatterAddAttrs>);
  OpRecord("scatter_nd")
      .doc("The data with updates written or added where columns of indices point.")
      .input("data", "the input")
      .input("indices", "the indices, one column each")
      .input("updates", "what is written there")
      .support_level(3)
      .type("ScatterND", scatter_nd_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        auto* given = attrs.as<ScatterNDAttrs>();
        return Tensors{topi::scatter_nd(in[0], in[1], in[2], given->mode, {given->checked_as})};
      });
  OpRecord("sparse_to_dense")
      .doc("A tensor of one value, with others at the given indices.")
      .attrs<SparseToDenseAttrs>()
      .input("sparse_indices", "the indices")
      .input("sparse_values", "the values there")
      .input("default_value", "the value elsewhere")
      .support_level(3)
      .type("SparseToDense", sparse_to_dense_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .compute([](const Attrs&, const Tensors& in, const Type& out) {
        return Tensors{topi::sparse_to_dense(in[0], tensor_of(out)->shape, in[1], te::load(in[2], {}))};
      });
  OpRecord("invert_permutation")
      .doc("out[data[i]] = i.")
      .input("data", "each number from 0 on once")
      .support_level(1)
      .type("Identity", permutation_type)
      .fusion(Fusion::Injective)
      .stateful(false)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return Tensors{topi::invert_permutation(in[0])}; });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily scatter_family{scatter_records};

}  // namespace tessera::op
