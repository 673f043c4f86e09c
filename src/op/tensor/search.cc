// Cumsum and cumprod, sorting and searching.

#include "topi/search.h"
#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/search.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::ArgsortAttrs;
using relay::may_equal;
using relay::ScanopAttrs;
using relay::SearchSortedAttrs;
using relay::TopkAttrs;
using relay::UniqueAttrs;

bool scan_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<ScanopAttrs>();
  DataType dtype = attrs->dtype.is_void() ? data->dtype : attrs->dtype;
  Array<PrimExpr> shape = data->shape;
  if (attrs->axis) {
    normal_axis(constant_of(attrs->axis, "axis"), rank_of(data));
  } else {
    PrimExpr total = PrimExpr(1);
    for (const PrimExpr& extent : data->shape) total = unless_any({total, extent}, [&] { return total * extent; });
    shape = {total};
  }
  query.result(TensorType(shape, dtype));
  return true;
}

template <bool is_product>
Tensors scan(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<ScanopAttrs>();
  auto* type = tensor_of(out);
  if (attrs->axis)
    return {topi::scan(in[0], normal_axis(*as_int(attrs->axis), rank_of(in[0])), is_product, attrs->is_exclusive(),
                       type->dtype)};
  return {topi::scan(topi::reshape(in[0], type->shape), 0, is_product, attrs->is_exclusive(), type->dtype)};
}

bool argsort_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<ArgsortAttrs>();
  normal_axis(attrs->axis, rank_of(data));
  query.result(TensorType(data->shape, attrs->dtype));
  return true;
}

bool sort_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  normal_axis(query.attrs_as<ArgsortAttrs>()->axis, rank_of(data));
  query.result(query.type(0));
  return true;
}

bool topk_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<TopkAttrs>();
  auto axis = normal_axis(attrs->axis, rank_of(data));
  Array<PrimExpr> shape = data->shape;
  int64_t count = constant_of(attrs->k, "k");
  const int64_t* extent = as_int(shape[axis]);
  if (extent && count > *extent)
    throw Error(TypeError) << "k is " << count << ", but axis " << axis << " has only " << *extent << " elements";
  if (count > 0) shape.set(axis, make_const(shape[axis].dtype(), count));
  query.result(topk_result(query, shape, attrs->ret_type, attrs->dtype));
  return true;
}

Tensors topk(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<TopkAttrs>();
  int axis = normal_axis(attrs->axis, rank_of(in[0]));
  auto* tuple = out.as<TupleType>();
  auto* first = tensor_of(tuple ? tuple->fields_[0] : out);
  return topi::topk(in[0], first->shape[axis], axis, attrs->ret_type, attrs->is_ascend, attrs->dtype);
}

bool searchsorted_type(TypeQuery& query) {
  auto *sequence = query.tensor(0), *values = query.tensor(1);
  if (!sequence || !values) return false;
  auto* attrs = query.attrs_as<SearchSortedAttrs>();
  if (sequence->shape.empty()) throw Error(TypeError) << "sorted_sequence must have at least one dimension";
  if (sequence->dtype != values->dtype)
    throw Error(TypeError) << "sorted_sequence is " << to_text(query.type(0)) << ", but values is "
                           << to_text(query.type(1)) << ": their types differ";
  if (rank_of(sequence) > 1) {
    require_rank(query, 1, "values", rank_of(sequence));
    for (int i = 0; i + 1 < rank_of(sequence); ++i)
      if (!may_equal(sequence->shape[i], values->shape[i]))
        throw Error(TypeError) << "sorted_sequence is " << to_text(query.type(0)) << ", but values is "
                               << to_text(query.type(1)) << ": they may differ only in the last dimension";
  }
  if (!attrs->dtype.is_int()) throw Error(TypeError) << "dtype is " << to_text(attrs->dtype) << "; it must be signed";
  query.result(TensorType(values->shape, attrs->dtype));
  return true;
}

bool unique_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  require_rank(query, 0, "data", 1);
  DataType index = DataType::Int(32);
  Array<Type> fields{query.type(0), TensorType(data->shape, index), TensorType(data->shape, index),
                     TensorType({PrimExpr(1)}, index)};
  if (query.attrs_as<UniqueAttrs>()->return_counts) fields.push_back(TensorType(data->shape, index));
  query.result(tuple_type(fields));
  return true;
}

bool argwhere_type(TypeQuery& query) {
  auto* condition = query.tensor(0);
  if (!condition) return false;
  query.result(TensorType({any_extent(), PrimExpr(rank_of(condition))}, DataType::Int(32)));
  return true;
}

/// {how many elements are not zero, how many dimensions there are}
Tensors argwhere_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>&) {
  te::Tensor count = topi::count_nonzero(in[0]);
  PrimExpr rank = make_const(DataType::Int(64), rank_of(in[0]));
  return {topi::compute(
      {PrimExpr(2)}, "ax",
      [&](const Array<PrimExpr>& at) { return if_then_else(equal(at[0], PrimExpr(0)), te::load(count, {}), rank); },
      "shape", "")};
}

}  // namespace

Type topk_result(const TypeQuery& query, const Array<PrimExpr>& shape, const String& what, DataType dtype) {
  Type values = TensorType(shape, query.tensor(0)->dtype), indices = TensorType(shape, dtype);
  if (what == "both") return tuple_type({values, indices});
  if (what == "values") return values;
  if (what == "indices") return indices;
  throw Error(TypeError) << "ret_type is \"" << what << "\"; it may be \"both\", \"values\" or \"indices\"";
}

static void search_records() {
  OpRecord("cumsum")
      .doc("Cumulative sums.")
      .input("data", "the input")
      .support_level(3)
      .type("Cumsum", scan_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Never)
      .flops(1)
      .compute(scan<false>);
  OpRecord("cumprod")
      .doc("Cumulative products.")
      .input("data", "the input")
      .support_level(3)
      .type("Cumprod", scan_type)
      .fusion(Fusion::Opaque)
      .flops(1)
      .compute(scan<true>);
  OpRecord("argsort")
      .doc("Indices that sort the elements along an axis.")
      .attrs<ArgsortAttrs>()
      .input("data", "the input")
      .support_level(6)
      .type("Argsort", argsort_type)
      .fusion(Fusion::Opaque)
      .sees_order_only()
      .precision(Precision::Never)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<ArgsortAttrs>();
        return Tensors{topi::argsort(in[0], normal_axis(attrs->axis, rank_of(in[0])), attrs->is_ascend, attrs->dtype)};
      });
  OpRecord("sort")
      .doc("The elements along an axis in order.")
      .attrs<ArgsortAttrs>()
      .input("data", "the input")
      .support_level(6)
      .type("Sort", sort_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Never)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<ArgsortAttrs>();
        return Tensors{topi::sort(in[0], normal_axis(attrs->axis, rank_of(in[0])), attrs->is_ascend)};
      });
  OpRecord("topk")
      .doc("The greatest or least elements along an axis, their indices, or both.")
      .attrs<TopkAttrs>()
      .input("data", "the input")
      .support_level(6)
      .type("TopK", topk_type)
      .fusion(Fusion::Opaque)
      .precision(Precision::Never)
      .compute(topk);
  OpRecord("searchsorted")
      .doc("Where values belong in a sorted sequence.")
      .attrs<SearchSortedAttrs>()
      .input("sorted_sequence", "what is searched")
      .input("values", "what is looked for")
      .support_level(6)
      .type("SearchSorted", searchsorted_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<SearchSortedAttrs>();
        return Tensors{topi::searchsorted(in[0], in[1], attrs->right, attrs->dtype)};
      });
  OpRecord("unique")
      .doc("The different elements of a vector, and where they are.")
      .input("data", "the input")
      .support_level(3)
      .type("unique", unique_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<UniqueAttrs>();
        return topi::unique(in[0], attrs->sorted, attrs->return_counts);
      });
  OpRecord("argwhere")
      .doc("The indices of the elements that are not zero.")
      .input("condition", "the input")
      .support_level(10)
      .type("ArgWhere", argwhere_type)
      .fusion(Fusion::Opaque)
      .stateful(false)
      .compute([](const Attrs&, const Tensors& in, const Type& out) {
        return Tensors{topi::argwhere(in[0], tensor_of(out)->shape[0])};
      })
      .shape({1}, argwhere_shape);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily search_family{search_records};

}  // namespace tessera::op
