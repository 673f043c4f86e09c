// Dimensions in another order, added, dropped, or split by a layout.

#include <map>

#include "ir/prim/ops.h"
#include "op/evaluate/evaluate.h"
#include "op/layout_rules.h"
#include "op/qnn/quantized_forms.h"
#include "op/records.h"
#include "op/rules.h"
#include "relay/attrs/transform.h"
#include "tir/index_map.h"
#include "tir/layout.h"
#include "topi/transform.h"

namespace tessera::op {
namespace {

using relay::AutoSchedulerLayoutTransformAttrs;
using relay::ExpandDimsAttrs;
using relay::LayoutTransformAttrs;
using relay::MetaScheduleLayoutTransformAttrs;
using relay::SqueezeAttrs;
using relay::TransposeAttrs;

std::vector<int> transpose_axes(const TransposeAttrs* attrs, int rank) {
  std::vector<int> out;
  if (!attrs->axes.defined() || (attrs->axes.empty() && rank > 0)) {
    for (int i = rank; i-- > 0;) out.push_back(i);
    return out;
  }
  std::vector<bool> used(rank);
  for (const PrimExpr& axis : attrs->axes) {
    out.push_back(normal_axis(*as_int(axis), rank));
    if (used[out.back()]) throw Error(TypeError) << "axis " << axis << " is given twice";
    used[out.back()] = true;
  }
  if (static_cast<int>(out.size()) != rank)
    throw Error(TypeError) << out.size() << " axes are given for a tensor of " << rank << " dimensions";
  return out;
}

bool transpose_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  Array<PrimExpr> shape;
  for (int axis : transpose_axes(query.attrs_as<TransposeAttrs>(), rank_of(data))) shape.push_back(data->shape[axis]);
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
      const PrimExpr extent = shape[out.back()];
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
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) shape.push_back(data->shape[i]);
  query.result(TensorType(shape, data->dtype));
  return true;
}

Tensors squeeze(const Attrs& attrs, const Tensors& in, const Type&) {
  return {topi::squeeze(in[0], squeeze_axes(attrs.as<SqueezeAttrs>(), in[0]->shape))};
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

/// "4o2i" as its letters and extents.
std::vector<std::pair<char, int>> tiled_axes(const String& layout) {
  std::vector<std::pair<char, int>> out;
  int extent = 0;
  for (char c : layout.str()) {
    if (isdigit(static_cast<unsigned char>(c))) {
      if (extent > (1 << 26)) throw Error(TypeError) << "an extent of the layout " << layout << " is too large";
      extent = extent * 10 + (c - '0');
    } else out.emplace_back(c, std::exchange(extent, 0));
  }
  for (const auto& [letter, size] : out)
    if (size == 0) throw Error(TypeError) << "the layout " << layout << " has no extent for " << letter;
  return out;
}

/// The extent of each letter: the product of its parts.
std::map<char, int64_t> whole_extents(const std::vector<std::pair<char, int>>& axes) {
  std::map<char, int64_t> out;
  for (const auto& [letter, size] : axes) out.try_emplace(letter, 1).first->second *= size;
  return out;
}

bool tiled_layout_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  auto* attrs = query.attrs_as<AutoSchedulerLayoutTransformAttrs>();
  auto from = tiled_axes(attrs->src_layout), to = tiled_axes(attrs->dst_layout);
  bool fits = from.size() == data->shape.size();
  for (size_t i = 0; fits && i < from.size(); ++i) {
    const int64_t* extent = as_int(data->shape[i]);
    fits = extent && *extent == from[i].second;
  }
  if (!fits)
    throw Error(TypeError) << "data is " << to_text(query.type(0)) << ", but src_layout is " << attrs->src_layout;
  if (whole_extents(from) != whole_extents(to))
    throw Error(TypeError) << "src_layout is " << attrs->src_layout << ", but dst_layout " << attrs->dst_layout
                           << " has other extents";
  Array<PrimExpr> shape;
  for (const auto& [letter, extent] : to) shape.push_back(PrimExpr(extent));
  query.result(TensorType(shape, data->dtype));
  return true;
}

/// Each letter's parts in the target form one number, which the letter's parts in the source are digits of.
Tensors tiled_layout(const Attrs& given, const Tensors& in, const Type& out) {
  auto* attrs = given.as<AutoSchedulerLayoutTransformAttrs>();
  auto from = tiled_axes(attrs->src_layout), to = tiled_axes(attrs->dst_layout);
  return {topi::compute(
      tensor_of(out)->shape, "ax",
      [&](const Array<PrimExpr>& at) {
        std::map<char, PrimExpr> index_of;
        for (size_t i = 0; i < to.size(); ++i) {
          PrimExpr& whole = index_of[to[i].first];
          whole = whole ? whole * PrimExpr(to[i].second) + at[i] : at[i];
        }
        std::vector<PrimExpr> source(from.size());
        for (size_t i = from.size(); i-- > 0;) {
          PrimExpr& rest = index_of[from[i].first];
          source[i] = floormod(rest, PrimExpr(from[i].second));
          rest = floordiv(rest, PrimExpr(from[i].second));
        }
        return te::load(in[0], source);
      },
      "auto_scheduler_layout_trans", topi::kInjective)};
}

IndexMap index_map_of(const Attrs& attrs) {
  return downcast<IndexMap>(attrs.as<MetaScheduleLayoutTransformAttrs>()->index_map);
}

bool mapped_layout_type(TypeQuery& query) {
  auto* data = query.tensor(0);
  if (!data) return false;
  query.attrs_as<MetaScheduleLayoutTransformAttrs>();
  query.result(TensorType(map_shape(index_map_of(query.attrs()), data->shape), data->dtype));
  return true;
}

Tensors mapped_layout(const Attrs& attrs, const Tensors& in, const Type& out) {
  Array<Range> ranges;
  for (const PrimExpr& extent : in[0]->shape) ranges.push_back(make_range(make_zero(extent.dtype()), extent));
  IndexMap back = inverse_map(index_map_of(attrs), ranges);
  return {topi::compute(
      tensor_of(out)->shape, "ax", [&](const Array<PrimExpr>& at) { return te::load(in[0], map_indices(back, at)); },
      "meta_schedule_layout_trans", topi::kInjective)};
}

}  // namespace

static void dimension_records() {
  OpRecord("transpose")
      .doc("The dimensions in another order.")
      .attrs<TransposeAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Transpose", transpose_type)
      .fusion(Fusion::Injective)
      .moves(Moves::Permute)
      .precision(Precision::Follow)
      .quantized(quantized_moves)
      .layout(layout::transposition)
      .evaluate(evaluate_transpose)
      .compute(transpose);
  OpRecord("expand_dims")
      .doc("New dimensions of extent 1.")
      .attrs<ExpandDimsAttrs>()
      .input("data", "the input")
      .support_level(1)
      .type("ExpandDims", expand_dims_type)
      .fusion(Fusion::Broadcast)
      .moves(Moves::View)
      .precision(Precision::Follow)
      .quantized(quantized_moves)
      .evaluate(evaluate_view)
      .compute(expand_dims);
  OpRecord("squeeze")
      .doc("Without dimensions of extent 1.")
      .attrs<SqueezeAttrs>()
      .input("data", "the input")
      .support_level(3)
      .type("Squeeze", squeeze_type)
      .fusion(Fusion::Injective)
      .moves(Moves::View)
      .precision(Precision::Follow)
      .quantized(quantized_moves)
      .layout(layout::squeezing)
      .evaluate(evaluate_view)
      .compute(squeeze);
  OpRecord("layout_transform")
      .doc("The elements in another layout.")
      .attrs<LayoutTransformAttrs>()
      .input("data", "the input")
      .support_level(5)
      .type("layout_transform", layout_transform_type)
      .fusion(Fusion::Injective)
      .precision(Precision::Follow)
      .evaluate(evaluate_layout_transform)
      .compute([](const Attrs& given, const Tensors& in, const Type&) {
        auto* attrs = given.as<LayoutTransformAttrs>();
        return Tensors{topi::layout_transform(in[0], attrs->src_layout, attrs->dst_layout)};
      });
  OpRecord("auto_scheduler_layout_transform")
      .doc("The elements in another tiling, as a search has chosen it.")
      .attrs<AutoSchedulerLayoutTransformAttrs>()
      .input("data", "the input")
      .support_level(5)
      .type("auto_scheduler_layout_transform", tiled_layout_type)
      .fusion(Fusion::Injective)
      .compute(tiled_layout);
  OpRecord("meta_schedule_layout_transform")
      .doc("The elements moved by an index map.")
      .attrs<MetaScheduleLayoutTransformAttrs>()
      .input("data", "the input")
      .support_level(5)
      .type("meta_schedule_layout_transform", mapped_layout_type)
      .fusion(Fusion::Injective)
      .compute(mapped_layout);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily dimension_family{dimension_records};

}  // namespace tessera::op
