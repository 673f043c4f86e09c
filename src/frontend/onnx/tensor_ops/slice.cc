// Operators that take a part of a tensor: slices, and splits into several.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/known.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/scope.h"
#include "frontend/onnx/tensor_ops/named_axes.h"
#include "relay/attrs/index.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Axes from `begin` to before `end` by steps, vectors of int64 with a number for each of `axes`. `known`: the axes, where
/// they are; the others keep what is known of their extents.
Expr cut_at_run_time(Operation& in, const Expr& x, const Expr& begin, const Expr& end, const Expr& steps,
                     const Expr& axes, const std::optional<std::vector<int64_t>>& known) {
  const size_t rank = in.rank(x);
  auto whole = [&](const Expr& given, int64_t otherwise) {
    return call_op(
        "scatter",
        {make_ints(std::vector<int64_t>(rank, otherwise)), axes, cast_if_needed(in, given, DataType::Int(64))},
        make_attrs<ScatterAttrs>([](auto& attrs) { attrs.axis = 0; }));
  };
  Expr by = steps.defined() ? whole(steps, 1) : make_ints(std::vector<int64_t>(rank, 1));
  return call_op("dyn.strided_slice", {x, whole(begin, 0), whole(end, INT64_MAX), by},
                 make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                   if (known && known->size() < rank) attrs.axes = int_array(*known);
                 }));
}

/// Along an axis whose extent is known at run time: parts of ceil(extent / count) elements, the last of what is left.
Values parted_at_run_time(Operation& in, int axis, int64_t count) {
  auto number = [](int64_t value) { return make_ints({value}); };
  Expr extent = reshape(extent_at_run_time(in, in[0], axis), int_array({1}));
  Expr each = call_op("floor_divide", {add(extent, number(count - 1)), number(count)});
  Values out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back(cut_at_run_time(in, in[0], multiply(each, number(i)), multiply(each, number(i + 1)), nullptr,
                                  number(axis), std::vector<int64_t>{axis}));
  return out;
}

Values parted(Operation& in) {
  size_t rank = in.rank(in[0]);
  int axis = in.axis(in.integer("axis", 0), rank);
  std::optional<std::vector<int64_t>> sizes = in.integers_or_input("split", 1);
  size_t count = static_cast<size_t>(in.integer("num_outputs", static_cast<int64_t>(in.num_outputs())));
  if (count == 0) in.invalid("there are no outputs");
  if (count != in.num_outputs()) in.invalid("num_outputs is not the number of outputs");
  if (!sizes) {
    const int64_t* known = as_int(in.shape(in[0])[static_cast<size_t>(axis)]);
    if (!known) return parted_at_run_time(in, axis, static_cast<int64_t>(count));
    int64_t extent = *known, n = static_cast<int64_t>(count), each = (extent + n - 1) / n;
    sizes.emplace();
    for (int64_t i = 0; i < n; ++i) sizes->push_back(std::clamp<int64_t>(extent - i * each, 0, each));
  }
  if (sizes->size() == 1) return {in[0]};
  std::vector<int64_t> points;
  int64_t at = 0;
  for (size_t i = 0; i + 1 < sizes->size(); ++i) points.push_back(at += (*sizes)[i]);
  Expr parts = split(in[0], points, axis);
  Values out;
  for (size_t i = 0; i < sizes->size(); ++i) out.push_back(make_get_item(parts, static_cast<int>(i)));
  return out;
}

Expr sliced_by(Operation& in, std::vector<int64_t> begin, std::vector<int64_t> end, std::vector<int64_t> strides,
               std::vector<int64_t> axes) {
  if (end.size() != begin.size() || strides.size() != begin.size() || axes.size() != begin.size())
    in.invalid("starts, ends, axes and steps differ in length");
  auto rank = static_cast<int64_t>(in.rank(in[0]));
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = in.axis(axes[i], static_cast<size_t>(rank));
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]);
  for (size_t i = 0; i < begin.size(); ++i) {
    // Bounds far outside mean the ends, and a longer step than any extent one element.
    constexpr int64_t kFar = int64_t{1} << 31;
    for (int64_t* number : {&begin[i], &end[i], &strides[i]}) *number = std::clamp(*number, -kFar + 1, kFar - 1);
    if (!shape) continue;
    int64_t extent = (*shape)[static_cast<size_t>(axes[i])];
    bool backwards = strides[i] < 0;
    auto bound = [&](int64_t value) {
      if (value < 0) value += extent;
      return backwards ? std::clamp<int64_t>(value, -1, extent - 1) : std::clamp<int64_t>(value, 0, extent);
    };
    for (int64_t* number : {&begin[i], &end[i]}) {
      *number = bound(*number);
      if (*number == -1) *number = -extent - 1;  // before the first element
    }
  }
  return call_op("strided_slice", {in[0]}, make_attrs<StridedSliceAttrs>([&](auto& attrs) {
                   attrs.begin = int_array(begin);
                   attrs.end = int_array(end);
                   attrs.strides = int_array(strides);
                   attrs.axes = int_array(axes);
                 }));
}

Values slice_1(Operation& in) {
  Ints begin = in.integers("starts"), end = in.integers("ends");
  if (begin.size() != end.size()) in.invalid("starts and ends are not equally many");
  std::vector<int64_t> ones(begin.size(), 1);
  return {sliced_by(in, begin, end, ones, in.integers("axes", counted(begin.size())))};
}

/// True where each axis begins at 0 and is seen to end no earlier than the data.
bool keeps_all(Operation& in, const std::vector<int64_t>& axes, const std::optional<std::vector<int64_t>>& strides) {
  if (in.has(4) && (!strides || std::count(strides->begin(), strides->end(), 1) != int64_t(strides->size())))
    return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<Element> begin = element_of(in[1], int64_t(i)), end = element_of(in[2], int64_t(i));
    if (!begin || begin->value != 0 || !end) return false;
    PrimExpr extent = end->as_extent();
    if (!extent || !same_extent(extent, in.shape(in[0])[static_cast<size_t>(axes[i])])) return false;
  }
  return true;
}

Values slice_10(Operation& in) {
  std::optional<std::vector<int64_t>> begin = in.constant_ints(in[1]), end = in.constant_ints(in[2]), axes, strides;
  if (in.has(3)) axes = in.constant_ints(in[3]);
  if (in.has(4)) strides = in.constant_ints(in[4]);
  bool is_known = begin && end && (axes || !in.has(3)) && (strides || !in.has(4));
  if (is_known) {
    if (begin->size() != end->size()) in.invalid("starts and ends are not equally many");
    if (!axes) axes = counted(begin->size());
    if (!strides) strides = std::vector<int64_t>(begin->size(), 1);
    if (std::count(strides->begin(), strides->end(), 0)) in.invalid("a step is zero");
    return {sliced_by(in, *begin, *end, *strides, *axes)};
  }
  // Bounds for all axes: those of other axes keep everything.
  size_t rank = in.rank(in[0]);
  std::optional<std::vector<int64_t>> count = in.fixed_shape(in[1]);
  if (!count) in.unsupported("bounds of unknown number");
  Expr positions;
  if (in.has(3) && !axes) {
    positions = counted_from_front(in, in[3], rank);
  } else {
    if (!axes) axes = counted(static_cast<size_t>((*count)[0]));
    for (int64_t& axis : *axes) axis = in.axis(axis, rank);
    positions = make_ints(*axes);
  }
  if (strides && std::count(strides->begin(), strides->end(), 0)) in.invalid("a step is zero");
  if (axes && keeps_all(in, *axes, strides)) return {in[0]};
  return {cut_at_run_time(in, in[0], in[1], in[2], in.get_or(4, nullptr), positions, axes)};
}

}  // namespace

Rows slice_rows() {
  return {
      {"Slice", 1, slice_1},
      {"Slice", 10, slice_10},
      {"Split", 1, parted},
  };
}

}  // namespace tessera::onnx
