// Operators that move or choose elements, or make tensors.

#include "relay/attrs/transform.h"
#include "ir/prim_ops.h"
#include "op/records.h"
#include "op/rules.h"
#include "tir/layout.h"
#include "topi/elementwise.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::CastAttrs;
using relay::ClipAttrs;
using relay::ConcatenateAttrs;
using relay::ExpandDimsAttrs;
using relay::InitOpAttrs;
using relay::is_any;
using relay::LayoutTransformAttrs;
using relay::may_equal;
using relay::ReshapeAttrs;
using relay::SplitAttrs;
using relay::SqueezeAttrs;
using relay::StackAttrs;
using relay::TakeAttrs;
using relay::TransposeAttrs;
using Tensors = Array<te::Tensor>;

int rank_of(const TensorTypeNode* type) { return static_cast<int>(type->shape.size()); }
const TensorTypeNode* tensor_of(const Type& type) { return type.as<TensorTypeNode>(); }

// ---- cast, clip ----------------------------------------------------------------------------------------------

bool cast_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType(data->shape, query.attrs_as<CastAttrs>()->dtype));
  return true;
}

// ---- reshape ---------------------------------------------------------------------------------------------------

/// The extents that ReshapeAttrs::newshape means for a tensor of shape `in`.
Array<PrimExpr> reshaped(const Array<PrimExpr>& in, const ReshapeAttrs* attrs) {
  std::vector<PrimExpr> out;
  size_t next = 0;
  int inferred = -1;
  auto take_one = [&](const char* what) {
    if (next >= in.size())
      throw Error(TypeError) << "newshape " << to_text(attrs->newshape) << " uses more dimensions than " << to_text(in)
                             << " has (at " << what << ")";
    return in[next++];
  };
  for (size_t i = 0; i < attrs->newshape.size(); ++i) {
    const int64_t* value = as_int(attrs->newshape[i]);
    if (!value || *value > 0 || (*value == 0 && attrs->allowzero)) {
      out.push_back(attrs->newshape[i]);
      if (next < in.size()) ++next;
    } else if (*value == 0) {
      out.push_back(take_one("0"));
    } else if (*value == -1) {
      if (inferred >= 0) throw Error(TypeError) << "newshape " << to_text(attrs->newshape) << " has two -1";
      inferred = static_cast<int>(out.size());
      out.push_back(PrimExpr(1));
      if (next < in.size()) ++next;
    } else if (*value == -2) {
      while (next < in.size()) out.push_back(in[next++]);
    } else if (*value == -3) {
      PrimExpr a = take_one("-3"), b = take_one("-3");
      out.push_back(is_any(a) ? a : is_any(b) ? b : a * b);
    } else if (*value == -4) {
      if (i + 2 >= attrs->newshape.size())
        throw Error(TypeError) << "newshape " << to_text(attrs->newshape) << ": -4 is followed by two extents";
      PrimExpr whole = take_one("-4"), first = attrs->newshape[i + 1], second = attrs->newshape[i + 2];
      bool open_first = is_const_int(first, -1), open_second = is_const_int(second, -1);
      if (open_first && open_second)
        throw Error(TypeError) << "newshape: one of the two extents after -4 must be known";
      out.push_back(open_first ? floordiv(whole, second) : first);
      out.push_back(open_second ? floordiv(whole, first) : second);
      i += 2;
    } else {
      throw Error(TypeError) << "newshape " << to_text(attrs->newshape) << ": " << *value << " means nothing";
    }
  }
  PrimExpr before = PrimExpr(1), after = PrimExpr(1), unknown;
  for (const PrimExpr& extent : in) is_any(extent) ? void(unknown = extent) : void(before = before * extent);
  for (const PrimExpr& extent : out) is_any(extent) ? void(unknown = extent) : void(after = after * extent);
  if (inferred >= 0) {
    if (unknown) {
      out[static_cast<size_t>(inferred)] = unknown;
    } else {
      const int64_t* known = as_int(after);
      if (known && *known == 0) throw Error(TypeError) << "-1 cannot be inferred beside an extent of 0";
      if (as_int(before) && known && *as_int(before) % *known != 0)
        throw Error(TypeError) << "a tensor of shape " << to_text(in) << " cannot be reshaped to "
                               << to_text(attrs->newshape) << ": " << before << " elements are not a multiple of "
                               << after;
      out[static_cast<size_t>(inferred)] = floordiv(before, after);
    }
  } else if (!unknown && !may_equal(before, after)) {
    throw Error(TypeError) << "a tensor of shape " << to_text(in) << " has " << before << " elements, but "
                           << to_text(attrs->newshape) << " means " << after;
  }
  return out;
}

bool reshape_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.result(TensorType(reshaped(data->shape, query.attrs_as<ReshapeAttrs>()), data->dtype));
  return true;
}

Tensors reshape(const Attrs&, const Tensors& in, const Type& out) {
  return {topi::reshape(in[0], tensor_of(out)->shape)};
}

// ---- transpose, expand_dims, squeeze -----------------------------------------------------------------------------

std::vector<int> transpose_axes(const TransposeAttrs* attrs, int rank) {
  std::vector<int> out;
  if (!attrs->axes.defined() || (attrs->axes.empty() && rank > 0)) {
    for (int i = rank; i-- > 0;) out.push_back(i);
    return out;
  }
  std::vector<bool> used(static_cast<size_t>(rank));
  for (const PrimExpr& axis : attrs->axes) {
    out.push_back(normal_axis(*as_int(axis), rank));
    if (used[static_cast<size_t>(out.back())]) throw Error(TypeError) << "axis " << axis << " is given twice";
    used[static_cast<size_t>(out.back())] = true;
  }
  if (static_cast<int>(out.size()) != rank)
    throw Error(TypeError) << out.size() << " axes are given for a tensor of " << rank << " dimensions";
  return out;
}

bool transpose_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  Array<PrimExpr> shape;
  for (int axis : transpose_axes(query.attrs_as<TransposeAttrs>(), rank_of(data)))
    shape.push_back(data->shape[static_cast<size_t>(axis)]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors transpose(const Attrs& attrs, const Tensors& in, const Type&) {
  return {topi::transpose(in[0], transpose_axes(attrs.as<TransposeAttrs>(), static_cast<int>(in[0]->shape.size())))};
}

int expand_axis(const ExpandDimsAttrs* attrs, int rank) {
  if (attrs->num_newaxis < 0) throw Error(TypeError) << "num_newaxis is " << attrs->num_newaxis;
  if (attrs->axis < -rank - 1 || attrs->axis > rank)
    throw Error(TypeError) << "axis " << attrs->axis << " is out of range for a tensor of " << rank << " dimensions";
  return attrs->axis < 0 ? attrs->axis + rank + 1 : attrs->axis;
}

bool expand_dims_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<ExpandDimsAttrs>();
  Array<PrimExpr> shape = data->shape;
  auto axis = static_cast<size_t>(expand_axis(attrs, rank_of(data)));
  for (int i = 0; i < attrs->num_newaxis; ++i) shape.insert(axis, PrimExpr(1));
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors expand_dims(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<ExpandDimsAttrs>();
  return {topi::expand_dims(in[0], expand_axis(attrs, static_cast<int>(in[0]->shape.size())), attrs->num_newaxis)};
}

std::vector<int> squeeze_axes(const SqueezeAttrs* attrs, const Array<PrimExpr>& shape) {
  std::vector<int> out;
  if (attrs->axis.defined()) {
    for (const PrimExpr& axis : attrs->axis) {
      out.push_back(normal_axis(*as_int(axis), static_cast<int>(shape.size())));
      const PrimExpr extent = shape[static_cast<size_t>(out.back())];
      if (as_int(extent) && !is_one(extent))
        throw Error(TypeError) << "axis " << axis << " has the extent " << extent << ", only 1 can be squeezed";
    }
    return out;
  }
  for (size_t i = 0; i < shape.size(); ++i)
    if (is_one(shape[i])) out.push_back(static_cast<int>(i));
  return out;
}

bool squeeze_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  std::vector<int> axes = squeeze_axes(query.attrs_as<SqueezeAttrs>(), data->shape);
  Array<PrimExpr> shape;
  for (int i = 0; i < rank_of(data); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) shape.push_back(data->shape[static_cast<size_t>(i)]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors squeeze(const Attrs& attrs, const Tensors& in, const Type&) {
  return {topi::squeeze(in[0], squeeze_axes(attrs.as<SqueezeAttrs>(), in[0]->shape))};
}

// ---- concatenate, stack, split -----------------------------------------------------------------------------------

/// The tensors of a tuple argument, which must agree in type and in all extents but that of `axis` (-1: all).
std::vector<const TensorTypeNode*> tuple_of_tensors(const TupleType* tuple, int axis) {
  if (tuple->fields_.empty()) throw Error(TypeError) << "there is nothing to join";
  std::vector<const TensorTypeNode*> out;
  for (const Type& field : tuple->fields_) {
    out.push_back(tensor_of(field));
    if (!out.back()) throw Error(TypeError) << "only tensors can be joined, not " << to_text(field);
    const TensorTypeNode *first = out.front(), *last = out.back();
    if (first->dtype != last->dtype || first->shape.size() != last->shape.size())
      throw Error(TypeError) << to_text(tuple->fields_[0]) << " and " << to_text(field) << " cannot be joined";
    for (size_t i = 0; i < first->shape.size(); ++i)
      if (static_cast<int>(i) != axis && !may_equal(first->shape[i], last->shape[i]))
        throw Error(TypeError) << to_text(tuple->fields_[0]) << " and " << to_text(field)
                               << " cannot be joined: they differ in dimension " << i;
  }
  return out;
}

bool concatenate_type(TypeQuery& query) {
  auto* tuple = query.tuple(0);
  if (!tuple) return false;
  auto* first = tuple->fields_.empty() ? nullptr : tensor_of(tuple->fields_[0]);
  int axis = first ? normal_axis(query.attrs_as<ConcatenateAttrs>()->axis, rank_of(first)) : 0;
  PrimExpr total, unknown;
  for (const TensorTypeNode* part : tuple_of_tensors(tuple, axis)) {
    PrimExpr extent = part->shape[static_cast<size_t>(axis)];
    if (is_any(extent)) unknown = extent;
    else total = total ? total + extent : extent;
  }
  Array<PrimExpr> shape = first->shape;
  shape.set(static_cast<size_t>(axis), unknown ? unknown : total);
  query.result(TensorType(shape, first->dtype));
  return true;
}

Tensors concatenate(const Attrs& attrs, const Tensors& in, const Type& out) {
  return {topi::concatenate(in, normal_axis(attrs.as<ConcatenateAttrs>()->axis, rank_of(tensor_of(out))))};
}

bool stack_type(TypeQuery& query) {
  auto* tuple = query.tuple(0);
  if (!tuple) return false;
  std::vector<const TensorTypeNode*> parts = tuple_of_tensors(tuple, -1);
  int axis = normal_axis(query.attrs_as<StackAttrs>()->axis, rank_of(parts[0]) + 1);
  Array<PrimExpr> shape = parts[0]->shape;
  shape.insert(static_cast<size_t>(axis), PrimExpr(static_cast<int>(parts.size())));
  query.result(TensorType(shape, parts[0]->dtype));
  return true;
}

Tensors stack(const Attrs& attrs, const Tensors& in, const Type& out) {
  return {topi::stack(in, normal_axis(attrs.as<StackAttrs>()->axis, rank_of(tensor_of(out))))};
}

/// Where the parts after the first begin.
std::vector<PrimExpr> split_begins(const SplitAttrs* attrs, const PrimExpr& extent) {
  std::vector<PrimExpr> out;
  if (auto* sections = attrs->indices_or_sections.as<IntImm>()) {
    if (sections->value < 1) throw Error(TypeError) << "a tensor cannot be split into " << sections->value << " parts";
    if (const int64_t* size = as_int(extent); size && *size % sections->value != 0)
      throw Error(TypeError) << "an extent of " << extent << " cannot be split into " << sections->value
                             << " equal parts";
    PrimExpr part = floordiv(extent, make_const(extent.dtype(), sections->value));
    for (int64_t i = 1; i < sections->value; ++i) out.push_back(part * make_const(extent.dtype(), i));
    return out;
  }
  for (const PrimExpr& index : downcast<Array<PrimExpr>>(attrs->indices_or_sections)) out.push_back(index);
  return out;
}

bool split_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<SplitAttrs>();
  auto axis = static_cast<size_t>(normal_axis(attrs->axis, rank_of(data)));
  PrimExpr extent = data->shape[axis];
  TupleType out;
  PrimExpr begin = make_zero(extent.dtype());
  std::vector<PrimExpr> ends;
  if (is_any(extent)) {
    auto* sections = attrs->indices_or_sections.as<IntImm>();
    size_t parts = sections ? static_cast<size_t>(sections->value)
                            : downcast<Array<PrimExpr>>(attrs->indices_or_sections).size() + 1;
    for (size_t i = 0; i < parts; ++i) out.fields_.push_back(query.type(0));
  } else {
    ends = split_begins(attrs, extent);
    ends.push_back(extent);
  }
  for (const PrimExpr& end : ends) {
    PrimExpr size = end - begin;
    if (as_int(size) && *as_int(size) < 0) throw Error(TypeError) << "the places of a split must rise";
    Array<PrimExpr> shape = data->shape;
    shape.set(axis, size);
    out.fields_.push_back(TensorType(shape, data->dtype));
    begin = end;
  }
  query.result(make(std::move(out)));
  return true;
}

Tensors split(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<SplitAttrs>();
  int axis = normal_axis(attrs->axis, static_cast<int>(in[0]->shape.size()));
  bool equal_parts = attrs->indices_or_sections.as<IntImm>();
  return topi::split(in[0], split_begins(attrs, in[0]->shape[static_cast<size_t>(axis)]), axis,
                     equal_parts ? "T_split_sections" : "T_split");
}

// ---- take, where, layout_transform -------------------------------------------------------------------------------

int take_axis(const TakeAttrs* attrs, int rank) { return attrs->axis ? normal_axis(*as_int(attrs->axis), rank) : -1; }

bool take_type(TypeQuery& query) {
  auto *data = query.tensor(0), *indices = query.tensor(1);
  if (!data || !indices) return false;
  auto* attrs = query.attrs_as<TakeAttrs>();
  if (!indices->dtype.is_int() && !indices->dtype.is_uint()) throw Error(TypeError) << "indices must be integers";
  int axis = take_axis(attrs, rank_of(data));
  if (axis < 0) return query.result(TensorType(indices->shape, data->dtype)), true;
  int batch = attrs->batch_dims < 0 ? attrs->batch_dims + rank_of(indices) : attrs->batch_dims;
  if (batch < 0 || batch > rank_of(indices) || batch > axis)
    throw Error(TypeError) << "batch_dims is " << attrs->batch_dims
                           << ", but must be at most the axis and the number of"
                           << " dimensions of indices";
  Array<PrimExpr> shape;
  for (int i = 0; i < axis; ++i) shape.push_back(data->shape[static_cast<size_t>(i)]);
  for (int i = batch; i < rank_of(indices); ++i) shape.push_back(indices->shape[static_cast<size_t>(i)]);
  for (int i = axis + 1; i < rank_of(data); ++i) shape.push_back(data->shape[static_cast<size_t>(i)]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors take(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<TakeAttrs>();
  int batch = attrs->batch_dims < 0 ? attrs->batch_dims + static_cast<int>(in[1]->shape.size()) : attrs->batch_dims;
  return {topi::take(in[0], in[1], take_axis(attrs, static_cast<int>(in[0]->shape.size())), batch, attrs->mode)};
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

bool layout_transform_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<LayoutTransformAttrs>();
  Layout from = make_layout(attrs->src_layout), to = make_layout(attrs->dst_layout);
  if (from->axes.size() != data->shape.size())
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", but src_layout is " << attrs->src_layout;
  query.result(TensorType(convert_shape(from, to, data->shape), data->dtype));
  return true;
}

// ---- tensors from nothing ----------------------------------------------------------------------------------------

bool init_type(TypeQuery& query) {
  auto* attrs = query.attrs_as<InitOpAttrs>();
  query.result(TensorType(attrs->shape, attrs->dtype));
  return true;
}

bool full_type(TypeQuery& query) {
  auto* value = query.tensor(0);
  if (!value) return false;
  auto* attrs = query.attrs_as<InitOpAttrs>();
  if (!value->shape.empty()) throw Error(TypeError) << "fill_value must be a scalar, but is " << to_text(query.type(0));
  query.result(TensorType(attrs->shape, attrs->dtype.is_void() ? value->dtype : attrs->dtype));
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

}  // namespace

void transform_records() {
  OpRecord("cast")
      .doc("The elements as another type.")
      .attrs<CastAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Cast", cast_type)
      .fusion(Fusion::Elementwise)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::cast(in[0], attrs.as<CastAttrs>()->dtype)};
      });
  OpRecord("reinterpret")
      .doc("The bits of the elements read as another type.")
      .attrs<CastAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Reinterpret", cast_type)
      .fusion(Fusion::Elementwise)
      .compute([](const Attrs& attrs, const Tensors& in, const Type&) {
        return Tensors{topi::reinterpret(in[0], attrs.as<CastAttrs>()->dtype)};
      });
  OpRecord("clip")
      .doc("Each element brought into [a_min, a_max].")
      .attrs<ClipAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Identity", same_as_input)
      .fusion(Fusion::Elementwise)
      .stateful(false)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<ClipAttrs>();
        DataType dtype = in[0]->dtype;
        return Tensors{topi::clip(in[0], make_const(dtype, attrs->a_min), make_const(dtype, attrs->a_max))};
      });
  OpRecord("reshape")
      .doc("The same elements in row-major order under another shape.")
      .attrs<ReshapeAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Reshape", reshape_type)
      .fusion(Fusion::Injective)
      .compute(reshape);
  OpRecord("transpose")
      .doc("The dimensions in another order.")
      .attrs<TransposeAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Transpose", transpose_type)
      .fusion(Fusion::Injective)
      .compute(transpose);
  OpRecord("expand_dims")
      .doc("New dimensions of extent 1.")
      .attrs<ExpandDimsAttrs>()
      .input("data", "the input")
      .support_level(1)
      .type("ExpandDims", expand_dims_type)
      .fusion(Fusion::Broadcast)
      .compute(expand_dims);
  OpRecord("squeeze")
      .doc("Without dimensions of extent 1.")
      .attrs<SqueezeAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Squeeze", squeeze_type)
      .fusion(Fusion::Injective)
      .compute(squeeze);
  OpRecord("concatenate")
      .doc("Tensors one after the other along an axis.")
      .attrs<ConcatenateAttrs>()
      .input("data", "the tensors")
      .support_level(1)
      .type("Concatenate", concatenate_type)
      .fusion(Fusion::Injective)
      .compute(concatenate);
  OpRecord("stack")
      .doc("Tensors along a new axis.")
      .attrs<StackAttrs>()
      .input("data", "the tensors")
      .support_level(3)
      .type("Stack", stack_type)
      .fusion(Fusion::Injective)
      .compute(stack);
  OpRecord("split")
      .doc("Parts along an axis.")
      .attrs<SplitAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Split", split_type)
      .fusion(Fusion::Injective)
      .compute(split);
  OpRecord("take")
      .doc("Elements or slices by index.")
      .attrs<TakeAttrs>()
      .input("data", "the input")
      .input("indices", "which to take")
      .support_level(3)
      .type("Take", take_type)
      .fusion(Fusion::Injective)
      .compute(take);
  OpRecord("where")
      .doc("x where the condition holds, else y.")
      .input("condition", "what decides")
      .input("x", "taken where it holds")
      .input("y", "taken elsewhere")
      .support_level(4)
      .type("Where", where_type)
      .fusion(Fusion::Broadcast)
      .compute([](const Attrs&, const Tensors& in, const Type&) { return Tensors{topi::where(in[0], in[1], in[2])}; });
  OpRecord("layout_transform")
      .doc("The elements in another layout.")
      .attrs<LayoutTransformAttrs>()
      .input("data", "the input")
      .support_level(5)
      .type("layout_transform", layout_transform_type)
      .fusion(Fusion::Injective)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<LayoutTransformAttrs>();
        return Tensors{topi::layout_transform(in[0], attrs->src_layout, attrs->dst_layout)};
      });
  OpRecord("zeros")
      .doc("A tensor of zeros.")
      .attrs<InitOpAttrs>()
      .support_level(3)
      .type("InitOp", init_type)
      .fusion(Fusion::Elementwise)
      .compute(constant_tensor<0>);
  OpRecord("ones")
      .doc("A tensor of ones.")
      .attrs<InitOpAttrs>()
      .support_level(3)
      .type("InitOp", init_type)
      .fusion(Fusion::Elementwise)
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
      .type("FullLike", same_as_input)
      .fusion(Fusion::Elementwise)
      .compute(full_like);
}

}  // namespace tessera::op
