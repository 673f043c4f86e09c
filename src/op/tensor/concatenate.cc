// Tensors concatenated or stacked to one, and one split into parts.

#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::ConcatenateAttrs;
using relay::is_any;
using relay::may_equal;
using relay::SplitAttrs;
using relay::StackAttrs;

/// The tensors of a tuple argument, which must agree in type and in all extents but that of `axis` (-1: all).
std::vector<const TensorTypeNode*> tuple_of_tensors(const TupleType* tuple, int axis) {
  if (tuple->fields_.empty()) throw Error(TypeError) << "there is nothing to concatenate";
  std::vector<const TensorTypeNode*> out;
  for (const Type& field : tuple->fields_) {
    out.push_back(tensor_of(field));
    if (!out.back()) throw Error(TypeError) << "only tensors can be concatenated, not " << to_text(field);
    const TensorTypeNode *first = out.front(), *last = out.back();
    if (first->dtype != last->dtype || first->shape.size() != last->shape.size())
      throw Error(TypeError) << to_text(tuple->fields_[0]) << " and " << to_text(field) << " cannot be concatenated";
    for (size_t i = 0; i < first->shape.size(); ++i)
      if (static_cast<int>(i) != axis && !may_equal(first->shape[i], last->shape[i]))
        throw Error(TypeError) << to_text(tuple->fields_[0]) << " and " << to_text(field)
                               << " cannot be concatenated: they differ in dimension " << i;
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
    PrimExpr extent = part->shape[axis];
    if (is_any(extent)) unknown = extent;
    else total = total ? total + extent : extent;
  }
  Array<PrimExpr> shape = first->shape;
  shape.set(axis, unknown ? unknown : total);
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
  shape.insert(axis, PrimExpr(static_cast<int>(parts.size())));
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
  for (const PrimExpr& index : downcast<Array<PrimExpr>>(attrs->indices_or_sections))
    out.push_back(cast(extent.dtype(), index));
  return out;
}

/// The extents of the parts along the axis that is split.
std::vector<PrimExpr> split_extents(const SplitAttrs* attrs, const PrimExpr& extent) {
  auto* sections = attrs->indices_or_sections.as<IntImm>();
  std::vector<PrimExpr> begins = is_any(extent) ? std::vector<PrimExpr>() : split_begins(attrs, extent);
  if (sections || is_any(extent)) {
    const size_t parts = sections ? static_cast<size_t>(sections->value)
                                  : downcast<Array<PrimExpr>>(attrs->indices_or_sections).size() + 1;
    return std::vector<PrimExpr>(parts, parts == 1 || is_any(extent) ? extent : begins.front());
  }
  begins.insert(begins.begin(), make_zero(extent.dtype()));
  begins.push_back(extent);
  std::vector<PrimExpr> out;
  for (size_t i = 1; i < begins.size(); ++i) {
    out.push_back(begins[i] - begins[i - 1]);
    if (as_int(out.back()) && *as_int(out.back()) < 0) throw Error(TypeError) << "the indices of a split must rise";
  }
  return out;
}

bool split_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<SplitAttrs>();
  auto axis = static_cast<size_t>(normal_axis(attrs->axis, rank_of(data)));
  TupleType out;
  for (const PrimExpr& extent : split_extents(attrs, data->shape[axis])) {
    Array<PrimExpr> shape = data->shape;
    shape.set(axis, extent);
    out.fields_.push_back(TensorType(shape, data->dtype));
  }
  query.result(make(std::move(out)));
  return true;
}

Tensors split(const Attrs& given, const Tensors& in, const Type&) {
  auto* attrs = given.as<SplitAttrs>();
  int axis = normal_axis(attrs->axis, static_cast<int>(in[0]->shape.size()));
  bool equal_parts = attrs->indices_or_sections.as<IntImm>();
  return topi::split(in[0], split_begins(attrs, in[0]->shape[axis]), axis,
                     equal_parts ? "T_split_sections" : "T_split");
}

}  // namespace

static void concatenate_records() {
  OpRecord("concatenate")
      .doc("Tensors one after the other along an axis.")
      .attrs<ConcatenateAttrs>()
      .input("data", "the tensors")
      .support_level(1)
      .type("Concatenate", concatenate_type)
      .fusion(Fusion::Injective)
      .precision(Precision::Follow)
      .quantized(quantized_concatenate)
      .layout(layout::concatenation)
      .evaluate(evaluate_concatenate)
      .compute(concatenate);
  OpRecord("stack")
      .doc("Tensors along a new axis.")
      .attrs<StackAttrs>()
      .input("data", "the tensors")
      .support_level(3)
      .type("Stack", stack_type)
      .fusion(Fusion::Injective)
      .precision(Precision::Follow)
      .compute(stack);
  OpRecord("split")
      .doc("Parts along an axis.")
      .attrs<SplitAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Split", split_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Slice)
      .precision(Precision::Follow)
      .layout(layout::splitting)
      .compute(split);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily concatenate_family{concatenate_records};

}  // namespace tessera::op
