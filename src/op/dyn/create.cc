// dyn.zeros, ones, full, broadcast_to, iota, one_hot, sparse_to_dense, tile: the shape of the result is an argument.

#include "ir/prim/ops.h"
#include "op/dyn/shapes.h"
#include "op/dyn/static_forms.h"
#include "op/records.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "topi/broadcast.h"
#include "topi/elementwise.h"
#include "topi/index.h"
#include "topi/repeat.h"
#include "topi/scatter.h"

namespace tessera::op {
namespace {

using relay::InitOpAttrs;
using relay::OneHotAttrs;
using relay::TileAttrs;

/// The values of input `i` are the shape.
template <int i>
ShapeFunc shape_is_input(const char* op) {
  return [op](const Attrs&, const Tensors& in, const Array<PrimExpr>& ranks) {
    return host_shapes("tessera.shape.input", {in[i]}, ranks, {string_imm(op)});
  };
}

bool init_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  query.result(TensorType(any_shape(vector_length(query, 0, "shape")), query.attrs_as<InitOpAttrs>()->dtype));
  return true;
}

bool full_type(TypeQuery& query) {
  auto* value = query.tensor(0);
  if (!value || !query.tensor(1)) return false;
  require_rank(query, 0, "fill_value", 0);
  DataType dtype = query.attrs_as<InitOpAttrs>()->dtype;
  query.result(TensorType(any_shape(vector_length(query, 1, "shape")), dtype.is_void() ? value->dtype : dtype));
  return true;
}

template <int value>
Tensors constant_tensor(const Attrs&, const Tensors&, const Type& out) {
  auto* type = tensor_of(out);
  return {topi::full(type->shape, type->dtype, make_const(type->dtype, value))};
}

Tensors full(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::full(tensor_of(out)->shape, tensor_of(out)->dtype, te::load(in[0], {}))};
}

bool broadcast_to_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  int64_t rank = vector_length(query, 1, "shape");
  if (rank_of(data) > rank)
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", which a shape of " << rank
                           << " dimensions does not hold";
  query.result(TensorType(any_shape(rank), data->dtype));
  return true;
}

Tensors broadcast_to_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.broadcast_to", in, ranks);
}

Tensors broadcast_to(const Attrs&, const Tensors& in, const Type& out) {
  const Array<PrimExpr> shape = tensor_of(out)->shape;
  return {topi::compute(
      shape, "ax",
      [&](const Array<PrimExpr>& at) { return te::load(in[0], topi::broadcast_indices(at, shape, in[0]->shape)); },
      "T_broadcast_to", topi::kBroadcast)};
}

bool tile_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data || !query.tensor(1)) return false;
  int64_t rank = std::max<int64_t>(rank_of(data), vector_length(query, 1, "reps"));
  query.result(TensorType(any_shape(rank), data->dtype));
  return true;
}

Tensors tile_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.tile", in, ranks);
}

Tensors tile(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::compute(
      tensor_of(out)->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        Array<PrimExpr> source;
        for (int i = 0; i < rank_of(in[0]); ++i)
          source.push_back(floormod(at[at.size() - in[0]->shape.size() + i], in[0]->shape[i]));
        return te::load(in[0], source);
      },
      "T_tile", topi::kBroadcast)};
}

bool one_hot_type(TypeQuery& query) {
  for (int i = 0; i < 4; ++i)
    if (!query.tensor(i)) return false;
  auto* attrs = query.attrs_as<OneHotAttrs>();
  auto* indices = query.tensor(0);
  require_integers(query, 0, "indices");
  require_integers(query, 3, "depth");
  if (attrs->axis < -1 || attrs->axis > rank_of(indices))
    throw Error(TypeError) << "axis " << attrs->axis << " is out of range; it may be -1 to " << rank_of(indices);
  Array<PrimExpr> shape = indices->shape;
  shape.insert(attrs->axis < 0 ? shape.size() : attrs->axis, any_extent());
  query.result(TensorType(shape, attrs->dtype));
  return true;
}

int64_t hot_axis(const Attrs& attrs, int64_t rank) {
  int axis = attrs.as<OneHotAttrs>()->axis;
  return axis < 0 ? rank - 1 : axis;
}

Tensors one_hot_shape(const Attrs& attrs, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.one_hot", {in[0], in[3]}, ranks,
                     {make_const(DataType::Int(64), hot_axis(attrs, *as_int(ranks[0])))});
}

Tensors one_hot(const Attrs& attrs, const Tensors& in, const Type& out) {
  auto* type = tensor_of(out);
  PrimExpr depth = type->shape[hot_axis(attrs, rank_of(type))];
  return {topi::one_hot(in[0], te::load(in[1], {}), te::load(in[2], {}), depth, attrs.as<OneHotAttrs>()->axis,
                        type->dtype)};
}

bool iota_type(TypeQuery& query) {
  if (!query.tensor(0)) return false;
  require_integers(query, 0, "count");
  require_rank(query, 0, "count", 0);
  query.result(TensorType({any_extent()}, DataType::Int(64)));
  return true;
}

bool sparse_to_dense_type(TypeQuery& query) {
  for (int i = 0; i < 4; ++i)
    if (!query.tensor(i)) return false;
  require_integers(query, 0, "sparse_indices");
  require_rank(query, 2, "default_value", 0);
  query.result(TensorType(any_shape(vector_length(query, 3, "output_shape")), query.tensor(1)->dtype));
  return true;
}

}  // namespace

static void dyn_create_records() {
  OpRecord("dyn.zeros")
      .doc("A tensor of zeros.")
      .attrs<InitOpAttrs>()
      .input("shape", "the shape")
      .support_level(3)
      .type("DynamicInitOp", init_type)
      .fusion(Fusion::Elementwise)
      .static_form(static_zeros)
      .compute(constant_tensor<0>)
      .shape({1}, shape_is_input<0>("dyn.zeros"));
  OpRecord("dyn.ones")
      .doc("A tensor of ones.")
      .attrs<InitOpAttrs>()
      .input("shape", "the shape")
      .support_level(3)
      .type("DynamicInitOp", init_type)
      .fusion(Fusion::Elementwise)
      .static_form(static_ones)
      .compute(constant_tensor<1>)
      .shape({1}, shape_is_input<0>("dyn.ones"));
  OpRecord("dyn.full")
      .doc("A tensor filled with one value.")
      .attrs<InitOpAttrs>()
      .input("fill_value", "the value", "double")
      .input("shape", "the shape")
      .support_level(3)
      .type("DynamicFull", full_type)
      .fusion(Fusion::Elementwise)
      .static_form(static_full)
      .compute(full)
      .shape({0, 1}, shape_is_input<1>("dyn.full"));
  OpRecord("dyn.broadcast_to")
      .doc("Broadcast to a shape: extents of 1 repeated, dimensions added in front.")
      .attrs<InitOpAttrs>()
      .input("data", "the input")
      .input("shape", "the shape")
      .support_level(4)
      .type("DynamicBroadCastTo", broadcast_to_type)
      .fusion(Fusion::Broadcast)
      .static_form(static_broadcast_to)
      .moves(Moves::Repeat)
      .compute(broadcast_to)
      .shape({0, 1}, broadcast_to_shape);
  OpRecord("dyn.tile")
      .doc("The whole tensor several times along each dimension.")
      .attrs<TileAttrs>()
      .input("data", "the input")
      .input("reps", "how many times")
      .support_level(3)
      .type("DynamicTile", tile_type)
      .fusion(Fusion::Injective)
      .static_form(static_tile)
      .moves(Moves::Repeat)
      .compute(tile)
      .shape({0, 1}, tile_shape);
  OpRecord("dyn.one_hot")
      .doc("One value at the position that the index names along a new axis, another elsewhere.")
      .attrs<OneHotAttrs>()
      .input("indices", "the indices")
      .input("on_value", "the value there", "Expr")
      .input("off_value", "the value elsewhere", "Expr")
      .input("depth", "the extent of the new axis", "Expr")
      .support_level(10)
      .type("DynOneHot", one_hot_type)
      .fusion(Fusion::OutputElementwise)
      .static_form(static_one_hot)
      .compute(one_hot)
      .shape({0, 0, 0, 1}, one_hot_shape);
  OpRecord("dyn.iota")
      .doc("0, 1, ... as many as count says; a negative count is an error.")
      .input("count", "how many")
      .support_level(10)
      .type("Iota", iota_type)
      .fusion(Fusion::Opaque)
      .compute([](const Attrs&, const Tensors&, const Type& out) {
        DataType dtype = DataType::Int(64);
        return Tensors{topi::arange(make_zero(dtype), make_const(dtype, 1), tensor_of(out)->shape[0], dtype)};
      })
      .shape({1}, [](const Attrs&, const Tensors& in, const Array<PrimExpr>& ranks) {
        return host_shapes("tessera.shape.iota", in, ranks);
      });
  OpRecord("dyn.sparse_to_dense")
      .doc("A tensor of one value, with others at the given indices.")
      .input("sparse_indices", "the indices")
      .input("sparse_values", "the values there")
      .input("default_value", "the value elsewhere")
      .input("output_shape", "the shape")
      .support_level(3)
      .type("DynSparseToDense", sparse_to_dense_type)
      .fusion(Fusion::Opaque)
      .static_form(static_sparse_to_dense)
      .stateful(false)
      .compute([](const Attrs&, const Tensors& in, const Type& out) {
        return Tensors{topi::sparse_to_dense(in[0], tensor_of(out)->shape, in[1], te::load(in[2], {}))};
      })
      .shape({0, 0, 0, 1}, shape_is_input<3>("dyn.sparse_to_dense"));
}

[[gnu::init_priority(kFamilies)]] static const OpFamily dyn_create_family{dyn_create_records};

}  // namespace tessera::op
