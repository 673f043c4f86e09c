// Elements chosen by index.

#include "relay/attrs/index.h"
#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/ops/indices.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr gathered(const Operation& in, const Expr& x, const Expr& indices, int axis) {
  return onnx::apply(in, "Gather", {x, indices}, {{"axis", axis}});
}

Values embedded(Operation& in) {
  Expr weight = in.has("weight") ? in["weight"] : in[0], indices = in.has("indices") ? in["indices"] : in[1];
  return {gathered(in, weight, indices, 0)};
}
Values selected_by_index(Operation& in) {
  Expr x = in[0], index = in["index"];
  const bool is_scalar = in.rank(x) == 0;
  if (is_scalar) x = expand_dims(x, 0);
  if (in.rank(index) == 0) index = expand_dims(index, 0);
  return {gathered(in, x, index, in.axis_of(in.integer("dim"), in.rank(x)))};
}
Values taken_flat(Operation& in) { return {gathered(in, reshape(in[0], int_array({-1})), in["index"], 0)}; }

/// One index for each element of the result.
Values gathered_elements(Operation& in) {
  Expr x = in[0], index = in["index"];
  if (in.rank(x) == 0) return {broadcast_to_like(x, index)};
  return {onnx::apply(in, "GatherElements", {x, index}, {{"axis", in.axis_of(in.integer("dim"), in.rank(x))}})};
}
Values taken_along(Operation& in) {
  Expr x = in[0], index = in["indices"];
  if (!in.has("dim")) return {gathered(in, reshape(x, int_array({-1})), reshape(index, int_array({-1})), 0)};
  const int axis = in.axis_of(in.integer("dim"), in.rank(x));
  Ints own = in.static_shape(x, "take_along_dim"), other = in.static_shape(index, "take_along_dim");
  for (size_t i = 0; i < own.size(); ++i)
    if (static_cast<int>(i) != axis) own[i] = other[i] = std::max(own[i], other[i]);
  return {onnx::apply(in, "GatherElements", {broadcast_to(x, int_array(own)), broadcast_to(index, int_array(other))},
                      {{"axis", axis}})};
}

}  // namespace

Expr wrapped_index(const Operation& in, const Expr& index, const Expr& x, int axis) {
  Expr wide = cast_if_needed(in, index, DataType::Int(64));
  if (std::optional<std::vector<int64_t>> known = in.rank(index) <= 1 ? in.constant_ints(index) : std::nullopt) {
    bool is_positive = true;
    for (int64_t one : *known) is_positive &= one >= 0;
    if (is_positive) return wide;
  }
  Expr zero = make_scalar(0, DataType::Int(64));
  return where(less(wide, zero), add(wide, extent_at_run_time(in, x, axis)), wide);
}

IndexList index_list(const Operation& in, const Expr& x) {
  IndexList out;
  const std::vector<Value>& given = in.items("indices");
  const size_t rank = in.rank(x);
  int axis = 0;
  for (const Value& item : given) {
    if (item.is_absent()) {
      ++axis;
      continue;
    }
    Expr index = in.tensor_of(item);
    const DataType dtype = in.dtype(index);
    if (dtype.is_bool() || dtype == DataType::UInt(8)) {  // where it is set, by as many axes
      const size_t own = in.rank(index);
      Expr rows = onnx::apply(in, "NonZero", {as_type(in, index, DataType::Bool())});
      if (own == 0) in.unsupported("a bool without dimensions as an index");
      for (size_t i = 0; i < own; ++i) {
        out.axes.push_back(axis++);
        out.indices.push_back(squeeze(take(rows, make_ints({static_cast<int64_t>(i)}), 0), int_array({0})));
      }
      continue;
    }
    out.indices.push_back(wrapped_index(in, index, x, axis));
    out.axes.push_back(axis++);
  }
  if (static_cast<size_t>(axis) > rank) in.invalid("more indices than dimensions");
  return out;
}

Expr broadcast_tuples(const Operation& in, std::vector<Expr> indices) {
  Expr whole = indices[0];
  if (indices.size() > 1) {
    for (size_t i = 1; i < indices.size(); ++i) whole = add(zeros_like(whole), zeros_like(indices[i]));
    whole = add(zeros_like(whole), zeros_like(indices[0]));
    std::optional<std::vector<int64_t>> shape = in.fixed_shape(whole);
    for (Expr& index : indices) {
      if (shape && in.fixed_shape(index) == shape) continue;
      index = shape ? broadcast_to(index, int_array(*shape)) : add(index, whole);
    }
  }
  return stack(Array<Expr>(indices.begin(), indices.end()), 0);
}

namespace {

/// As NumPy's indexing by several arrays: where they stand side by side the result's dimensions do too, else in front.
Values indexed(Operation& in) {
  Expr x = in[0];
  IndexList list = index_list(in, x);
  if (list.axes.empty()) return {in.value(0)};
  const auto rank = static_cast<int64_t>(in.rank(x));
  if (list.axes.size() == 1) return {gathered(in, x, list.indices[0], list.axes[0])};
  bool adjacent = true;
  for (size_t i = 1; i < list.axes.size(); ++i) adjacent &= list.axes[i] == list.axes[i - 1] + 1;
  std::vector<int64_t> order;
  for (int axis : list.axes) order.push_back(axis);
  for (int64_t i = 0; i < rank; ++i)
    if (std::find(list.axes.begin(), list.axes.end(), static_cast<int>(i)) == list.axes.end()) order.push_back(i);
  bool moves = false;
  for (size_t i = 0; i < order.size(); ++i) moves |= order[i] != static_cast<int64_t>(i);
  Expr front = moves ? transpose(x, int_array(order)) : x;
  Expr tuples = broadcast_tuples(in, list.indices);
  const auto index_rank = static_cast<int64_t>(in.rank(tuples)) - 1;
  std::vector<int64_t> last;
  for (int64_t i = 1; i <= index_rank; ++i) last.push_back(i);
  last.push_back(0);
  Expr out = onnx::apply(in, "GatherND", {front, index_rank == 0 ? tuples : transpose(tuples, int_array(last))});
  const int64_t first = list.axes[0];
  if (!adjacent || first == 0) return {out};
  std::vector<int64_t> back;  // (index.., others before, others behind) -> (before, index.., behind)
  for (int64_t i = 0; i < first; ++i) back.push_back(index_rank + i);
  for (int64_t i = 0; i < index_rank; ++i) back.push_back(i);
  for (int64_t i = index_rank + first; i < static_cast<int64_t>(in.rank(out)); ++i) back.push_back(i);
  return {transpose(out, int_array(back))};
}

Values one_hot_of(Operation& in) {
  Expr x = in[0];
  const int64_t classes = in.integer("num_classes", -1);
  if (classes < 1) {  // as many as the greatest number asks for, which a run decides
    const DataType number = DataType::Int(64);
    Expr count = add(reduce("max", cast_if_needed(in, x, number), nullptr), make_scalar(1, number));
    Expr all = call_op("dyn.iota", {count});
    return {cast(equal(expand_dims(cast_if_needed(in, x, number), static_cast<int>(in.rank(x))), all), number)};
  }
  return {onnx::apply(in, "OneHot", {x, make_ints({classes}), make_ints({0, 1})}, {{"axis", -1}})};
}

Values nonzero_rows(Operation& in) { return {transpose(onnx::apply(in, "NonZero", {in[0]}), int_array({1, 0}))}; }
Values nonzero_lists(Operation& in) {
  Expr rows = onnx::apply(in, "NonZero", {in[0]});
  std::vector<Value> out;
  for (size_t i = 0; i < std::max<size_t>(in.rank(in[0]), 1); ++i)
    out.push_back(Value(squeeze(take(rows, make_ints({static_cast<int64_t>(i)}), 0), int_array({0}))));
  return {Value::of(std::move(out))};
}
Values masked_select_of(Operation& in) {
  Expr x = in[0], mask = as_type(in, in.value("mask"), DataType::Bool());
  std::optional<std::vector<int64_t>> own = in.fixed_shape(x), other = in.fixed_shape(mask);
  if (!own || !other || *own != *other) {
    Expr zero = zeros_like(x);
    x = add(
        x, cast_if_needed(in, as_type(in, zeros_like(as_type(in, mask, DataType::Int(32))), in.dtype(x)), in.dtype(x)));
    mask = call_op("logical_or", {mask, as_type(in, zero, DataType::Bool())});
  }
  return {onnx::apply(in, "Compress", {reshape(x, int_array({-1})), reshape(mask, int_array({-1}))}, {{"axis", 0}})};
}

/// Rows of a table, added up or averaged bag by bag.
Values embedding_bag_of(Operation& in) {
  Expr weight = in[0], indices = in["indices"];
  const int64_t mode = in.integer("mode", 0);
  Ints offsets = in.needed_ints(in["offsets"], "offsets");
  if (in.flag("include_last_offset", false)) offsets.pop_back();
  const int64_t count = in.static_extent(indices, 0, "embedding_bag");
  Array<Expr> bags;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t end = i + 1 < offsets.size() ? offsets[i + 1] : count;
    Expr rows = gathered(in, weight, slice(indices, 0, offsets[i], end), 0);
    if (in.has("per_sample_weights"))
      rows = multiply(rows, expand_dims(slice(in["per_sample_weights"], 0, offsets[i], end), 1));
    bags.push_back(reduce(mode == 0 ? "sum" : mode == 1 ? "mean" : "max", rows, int_array({0})));
  }
  return {stack(bags, 0), Value(), Value(), Value()};
}

}  // namespace

Rows index_rows() {
  return {
      {"aten::_unsafe_index", indexed},
      {"aten::embedding", embedded},
      {"aten::embedding_bag", embedding_bag_of},
      {"aten::gather", gathered_elements},
      {"aten::index", indexed},
      {"aten::index_select", selected_by_index},
      {"aten::masked_select", masked_select_of},
      {"aten::nonzero", nonzero_rows},
      {"aten::nonzero_numpy", nonzero_lists},
      {"aten::one_hot", one_hot_of},
      {"aten::take", taken_flat},
      {"aten::take_along_dim", taken_along},
  };
}

}  // namespace tessera::torch
