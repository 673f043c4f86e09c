// Elements by index: take, gather, gather_nd, adv_index, where, one_hot.

#include "topi/index.h"
#include "ir/prim/ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/index.h"

namespace tessera::op {
namespace {

using relay::GatherAttrs;
using relay::GatherNDAttrs;
using relay::may_equal;
using relay::OneHotAttrs;
using relay::TakeAttrs;

int take_axis(const TakeAttrs* attrs, int rank) { return attrs->axis ? normal_axis(*as_int(attrs->axis), rank) : -1; }

bool take_type(TypeQuery& query) {
  auto *data = query.tensor(0), *indices = query.tensor(1);
  if (!data || !indices) return false;
  auto* attrs = query.attrs_as<TakeAttrs>();
  require_integers(query, 1, "indices");
  if (attrs->mode != "clip" && attrs->mode != "wrap" && attrs->mode != "fast")
    throw Error(TypeError) << "mode is \"" << attrs->mode << "\"; it may be \"clip\", \"wrap\" or \"fast\"";
  int axis = take_axis(attrs, rank_of(data));
  if (axis < 0) return query.result(TensorType(indices->shape, data->dtype)), true;
  int batch = attrs->batch_dims < 0 ? attrs->batch_dims + rank_of(indices) : attrs->batch_dims;
  if (batch < 0 || batch > rank_of(indices) || batch > axis)
    throw Error(TypeError) << "batch_dims is " << attrs->batch_dims
                           << ", but must be at most the axis and the number of dimensions of indices";
  Array<PrimExpr> shape;
  for (int i = 0; i < axis; ++i) shape.push_back(data->shape[i]);
  for (int i = batch; i < rank_of(indices); ++i) shape.push_back(indices->shape[i]);
  for (int i = axis + 1; i < rank_of(data); ++i) shape.push_back(data->shape[i]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors take(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<TakeAttrs>();
  int batch = attrs->batch_dims < 0 ? attrs->batch_dims + rank_of(in[1]) : attrs->batch_dims;
  return {topi::take(in[0], in[1], take_axis(attrs, rank_of(in[0])), batch, attrs->mode, {attrs->checked_as})};
}

int gather_axis(const GatherAttrs* attrs, int rank) { return normal_axis(constant_of(attrs->axis, "axis"), rank); }

bool gather_type(TypeQuery& query) {
  auto *data = query.tensor(0), *indices = query.tensor(1);
  if (!data || !indices) return false;
  require_integers(query, 1, "indices");
  require_rank(query, 1, "indices", rank_of(data));
  int axis = gather_axis(query.attrs_as<GatherAttrs>(), rank_of(data));
  for (int i = 0; i < rank_of(data); ++i)
    if (const int64_t *have = as_int(data->shape[i]), *read = as_int(indices->shape[i]);
        i != axis && have && read && *read > *have)
      throw Error(TypeError) << "data is " << to_text(query.type(0)) << " and indices is " << to_text(query.type(1))
                             << ": indices may be longer only in axis " << axis;
  query.result(TensorType(indices->shape, data->dtype));
  return true;
}

Tensors gather(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<GatherAttrs>();
  return {topi::gather(in[0], gather_axis(attrs, rank_of(in[0])), in[1], {attrs->checked_as})};
}

bool gather_nd_type(TypeQuery& query) {
  auto *data = query.tensor(0), *indices = query.tensor(1);
  if (!data || !indices) return false;
  auto* attrs = query.attrs_as<GatherNDAttrs>();
  require_integers(query, 1, "indices");
  if (indices->shape.empty()) throw Error(TypeError) << "indices must have at least one dimension";
  int width = static_cast<int>(
      constant_of(attrs->index_rank && !as_int(indices->shape[0]) ? attrs->index_rank : indices->shape[0],
                  "the first extent of indices"));
  if (attrs->batch_dims < 0 || attrs->batch_dims + width > rank_of(data) || attrs->batch_dims >= rank_of(indices))
    throw Error(TypeError) << "indices of " << width << " numbers after " << attrs->batch_dims
                           << " batch dimensions do not fit data, which is " << to_text(query.type(0));
  for (int i = 0; i < attrs->batch_dims; ++i)
    if (!may_equal(data->shape[i], indices->shape[i + 1]))
      throw Error(TypeError) << "data and indices differ in batch dimension " << i;
  Array<PrimExpr> shape;
  for (int i = 1; i < rank_of(indices); ++i) shape.push_back(indices->shape[i]);
  for (int i = attrs->batch_dims + width; i < rank_of(data); ++i) shape.push_back(data->shape[i]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

bool adv_index_type(TypeQuery& query) {
  auto* inputs = query.tuple(0);
  if (!inputs) return false;
  if (inputs->fields_.size() < 2) throw Error(TypeError) << "inputs must be data and at least one tensor of indices";
  auto* data = tensor_of(inputs->fields_[0]);
  if (!data || inputs->fields_.size() - 1 > data->shape.size())
    throw Error(TypeError) << "there are " << inputs->fields_.size() - 1 << " tensors of indices for data, which is "
                           << to_text(inputs->fields_[0]);
  Array<PrimExpr> shape;
  for (size_t i = 1; i < inputs->fields_.size(); ++i) {
    auto* indices = tensor_of(inputs->fields_[i]);
    if (!indices || (!indices->dtype.is_int() && !indices->dtype.is_uint()))
      throw Error(TypeError) << "indices must be integers, but is " << to_text(inputs->fields_[i]);
    shape = i == 1 ? indices->shape : broadcast_type_shape(shape, indices->shape);
  }
  for (size_t i = inputs->fields_.size() - 1; i < data->shape.size(); ++i) shape.push_back(data->shape[i]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

bool where_type(TypeQuery& query) {
  auto *condition = query.tensor(0), *x = query.tensor(1), *y = query.tensor(2);
  if (!condition || !x || !y) return false;
  if (x->dtype != y->dtype)
    throw Error(TypeError) << "x and y differ in type: " << to_text(x->dtype) << " and " << to_text(y->dtype);
  Array<PrimExpr> shape = broadcast_type_shape(condition->shape, broadcast_type_shape(x->shape, y->shape));
  query.result(TensorType(shape, x->dtype));
  return true;
}

bool one_hot_type(TypeQuery& query) {
  auto *indices = query.tensor(0), *on = query.tensor(1), *off = query.tensor(2);
  if (!indices || !on || !off) return false;
  auto* attrs = query.attrs_as<OneHotAttrs>();
  require_integers(query, 0, "indices");
  require_rank(query, 1, "on_value", 0);
  require_rank(query, 2, "off_value", 0);
  if (attrs->depth < 0) throw Error(TypeError) << "depth is " << attrs->depth;
  if (attrs->axis < -1 || attrs->axis > rank_of(indices))
    throw Error(TypeError) << "axis " << attrs->axis << " is out of range; it may be -1 to " << rank_of(indices);
  Array<PrimExpr> shape = indices->shape;
  shape.insert(attrs->axis < 0 ? shape.size() : attrs->axis, PrimExpr(attrs->depth));
  query.result(TensorType(shape, attrs->dtype));
  return true;
}

Tensors one_hot(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<OneHotAttrs>();
  return {topi::one_hot(in[0], te::load(in[1], {}), te::load(in[2], {}), PrimExpr(attrs->depth), attrs->axis,
                        attrs->dtype)};
}

}  // namespace

static void index_records() {
  OpRecord("take")
      .doc("Elements or slices by index.")
      .attrs<TakeAttrs>()
      .input("data", "the input")
      .input("indices", "which to take")
      .support_level(3)
      .type("Take", take_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Gather)
      .precision(Precision::Follow)
      .compute(take);
  OpRecord("gather")
      .doc("For each position the element that its index names along one axis.")
      .attrs<GatherAttrs>()
      .input("data", "the input")
      .input("indices", "the indices along the axis")
      .support_level(3)
      .type("Gather", gather_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Gather)
      .precision(Precision::Follow)
      .compute(gather);
  OpRecord("gather_nd")
      .doc("Elements or slices that columns of indices name.")
      .attrs<GatherNDAttrs>()
      .input("data", "the input")
      .input("indices", "the indices, one column each")
      .support_level(3)
      .type("GatherND", gather_nd_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Gather)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        auto* given = attrs.as<GatherNDAttrs>();
        return Tensors{topi::gather_nd(in[0], in[1], given->batch_dims, {given->checked_as})};
      });
  OpRecord("adv_index")
      .doc("Elements by one tensor of indices per dimension, broadcast to each other, as NumPy does.")
      .input("inputs", "data, then the indices", "Tuple of Tensors")
      .support_level(3)
      .type("AdvIndex", adv_index_type)
      .fusion(Fusion::Injective)
      .stateful(false)
      .compute([](const Attrs&, const Tensors& in, const Type&) {
        return Tensors{topi::adv_index(in[0], Tensors(in.begin() + 1, in.end()))};
      });
  OpRecord("where")
      .doc("x where the condition holds, else y.")
      .input("condition", "what decides")
      .input("x", "taken where it holds")
      .input("y", "taken elsewhere")
      .support_level(4)
      .type("Where", where_type)
      .fusion(Fusion::Broadcast)
      .precision(Precision::Follow)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return Tensors{topi::where(in[0], in[1], in[2])}; });
  OpRecord("one_hot")
      .doc("One value at the position that the index names along a new axis, another elsewhere.")
      .attrs<OneHotAttrs>()
      .input("indices", "the indices")
      .input("on_value", "the value there", "Expr")
      .input("off_value", "the value elsewhere", "Expr")
      .support_level(10)
      .type("OneHot", one_hot_type)
      .fusion(Fusion::OutputElementwise)
      .compute(one_hot);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily index_family{index_records};

}  // namespace tessera::op
