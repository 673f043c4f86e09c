// Tensors made from nothing, from one value, or from vectors of coordinates.

#include "ir/prim/ops.h"
#include "op/dyn/shapes.h"
#include "op/records.h"
#include "op/tensor/concrete_forms.h"
#include "relay/attrs/transform.h"
#include "relay/expr.h"
#include "runtime/function/element.h"
#include "runtime/function/shape_functions.h"
#include "topi/elementwise.h"
#include "topi/repeat.h"

namespace tessera::op {
namespace {

using relay::ArangeAttrs;
using relay::InitOpAttrs;
using relay::MeshgridAttrs;

bool init_type(TypeQuery& query) {
  auto* attrs = query.attrs_as<InitOpAttrs>();
  query.result(TensorType(attrs->shape, attrs->dtype));
  return true;
}

bool full_type(TypeQuery& query) {
  auto* value = query.tensor(0);
  if (!value) return false;
  auto* attrs = query.attrs_as<InitOpAttrs>();
  require_rank(query, 0, "fill_value", 0);
  query.result(TensorType(attrs->shape, attrs->dtype.is_void() ? value->dtype : attrs->dtype));
  return true;
}

bool full_like_type(TypeQuery& query) {
  if (!query.tensor(0) || !query.tensor(1)) return false;
  require_rank(query, 1, "fill_value", 0);
  query.result(query.type(0));
  return true;
}

template <int value>
Tensors constant_tensor(const Attrs&, const Tensors&, const Type& out) {
  auto* type = tensor_of(out);
  return {topi::full(type->shape, type->dtype, make_const(type->dtype, value))};
}

Tensors full(const Attrs&, const Tensors& in, const Type& out) {
  auto* type = tensor_of(out);
  return {topi::full(type->shape, type->dtype, te::load(in[0], {}))};
}

Tensors full_like(const Attrs&, const Tensors& in, const Type&) {
  return {topi::full(in[0]->shape, in[0]->dtype, te::load(in[1], {}), "T_full_like")};
}

/// A bound of arange where it is a constant of the program.
NDArray constant_bound(const Expr& bound) {
  auto* constant = bound.as<relay::Constant>();
  return constant && constant->is_scalar() ? constant->data.copy_to(cpu()) : NDArray();
}

PrimExpr known_bound(const Expr& bound) {
  NDArray data = constant_bound(bound);
  if (!data) return PrimExpr();
  DataType dtype = data.dtype();
  if (dtype.is_floating()) return float_imm(dtype, read_float(dtype, data.data<char>()));
  return int_imm(dtype, read_int(dtype, data.data<char>()));
}

bool arange_type(TypeQuery& query) {
  auto* attrs = query.attrs_as<ArangeAttrs>();
  for (int i = 0; i < 3; ++i)
    if (!query.tensor(i)) return false;
  const char* names[] = {"start", "stop", "step"};
  for (int i = 0; i < 3; ++i) require_rank(query, i, names[i], 0);
  NDArray start = constant_bound(attrs->start), stop = constant_bound(attrs->stop), step = constant_bound(attrs->step);
  PrimExpr count = any_extent();
  if (start && stop && step)
    count = int_imm(DataType::Int(32), arange_count(start.tensor(), stop.tensor(), step.tensor()));
  query.result(TensorType({count}, attrs->dtype));
  return true;
}

Tensors arange(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<ArangeAttrs>();
  auto bound = [&](const Expr& expr, int i) {
    PrimExpr known = known_bound(expr);
    return known ? known : te::load(in[i], {});
  };
  return {topi::arange(bound(attrs->start, 0), bound(attrs->step, 2), tensor_of(out)->shape[0], attrs->dtype)};
}

Tensors arange_shape(const Attrs&, const Tensors& in, const Array<PrimExpr>& ranks) {
  return host_shapes("tessera.shape.arange", in, ranks);
}

bool meshgrid_type(TypeQuery& query) {
  auto* tuple = query.tuple(0);
  if (!tuple) return false;
  if (tuple->fields_.empty()) throw Error(TypeError) << "there are no vectors";
  auto* attrs = query.attrs_as<MeshgridAttrs>();
  if (attrs->indexing != "ij" && attrs->indexing != "xy")
    throw Error(TypeError) << "indexing is \"" << attrs->indexing << "\"; it may be \"ij\" or \"xy\"";
  Array<PrimExpr> shape;
  auto* first = tensor_of(tuple->fields_[0]);
  for (const Type& field : tuple->fields_) {
    auto* vector = tensor_of(field);
    if (!vector || rank_of(vector) > 1)
      throw Error(TypeError) << "a grid is made of vectors, not of " << to_text(field);
    if (vector->dtype != first->dtype)
      throw Error(TypeError) << to_text(tuple->fields_[0]) << " and " << to_text(field) << " differ in type";
    shape.push_back(vector->shape.empty() ? PrimExpr(1) : vector->shape[0]);
  }
  if (attrs->indexing == "xy" && shape.size() > 1) {
    PrimExpr swapped = shape[0];
    shape.set(0, shape[1]);
    shape.set(1, swapped);
  }
  TupleType out;
  for (size_t i = 0; i < tuple->fields_.size(); ++i) out.fields_.push_back(TensorType(shape, first->dtype));
  query.result(make(std::move(out)));
  return true;
}

}  // namespace

static void create_records() {
  OpRecord("zeros")
      .doc("A tensor of zeros.")
      .attrs<InitOpAttrs>()
      .support_level(3)
      .type("InitOp", init_type)
      .fusion(Fusion::Elementwise)
      .fills(0)
      .compute(constant_tensor<0>);
  OpRecord("ones")
      .doc("A tensor of ones.")
      .attrs<InitOpAttrs>()
      .support_level(3)
      .type("InitOp", init_type)
      .fusion(Fusion::Elementwise)
      .fills(1)
      .compute(constant_tensor<1>);
  OpRecord("full")
      .doc("A tensor filled with one value.")
      .attrs<InitOpAttrs>()
      .input("fill_value", "the value", "double")
      .support_level(3)
      .type("Full", full_type)
      .fusion(Fusion::Elementwise)
      .compute(full);
  OpRecord("full_like")
      .doc("One value in the shape and type of another tensor.")
      .input("data", "the model")
      .input("fill_value", "the value", "double")
      .support_level(3)
      .type("FullLike", full_like_type)
      .fusion(Fusion::Elementwise)
      .flops(0)
      .concrete_form(concrete_full)
      .compute(full_like);
  OpRecord("arange")
      .doc("start, start + step, ... to before stop.")
      .attrs<ArangeAttrs>()
      .input("start", "the first element", "Expr")
      .input("end", "what the last element stays before", "Expr")
      .input("step", "the distance of elements", "Expr")
      .support_level(3)
      .type("Arange", arange_type)
      .fusion(Fusion::Opaque)
      .compute(arange)
      .shape({1, 1, 1}, arange_shape);
  OpRecord("meshgrid")
      .doc("The coordinates of each point of a grid, one tensor per axis.")
      .attrs<MeshgridAttrs>()
      .input("data", "the coordinates along each axis")
      .support_level(3)
      .type("Meshgrid", meshgrid_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return topi::meshgrid(in, attrs.as<MeshgridAttrs>()->indexing == "xy");
      });
}

[[gnu::init_priority(kFamilies)]] static const OpFamily create_family{create_records};

}  // namespace tessera::op
