#include "frontend/torch/views.h"

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr in_range(const NodeContext& in, const Expr& x, int axis, const Range& range) {
  if (as_int(in.shape(x)[static_cast<size_t>(axis)])) return slice(x, axis, range.begin, range.end, range.step);
  return onnx::apply(in, "Slice",
                     {x, make_ints({range.begin}), make_ints({range.end}), make_ints({axis}), make_ints({range.step})});
}

/// With bounds from 0 to the extent.
Range bounded(const Range& range, int64_t extent) {
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent); };
  Range out{bound(range.begin), bound(range.end), range.step};
  out.end = std::max(out.begin, out.end);
  return out;
}

Ints contiguous_strides(const Ints& shape) {
  Ints out(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) out[i] = stride;
  return out;
}

}  // namespace

Expr with_range(const NodeContext& in, const Expr& base, const Expr& value, int axis, const Range& range) {
  const Expr part = cast_if_needed(in, value, in.dtype(base));
  const int64_t* extent = as_int(in.shape(base)[static_cast<size_t>(axis)]);
  if (range.step == 1) {
    Range own = extent ? bounded(range, *extent) : range;
    Array<Expr> parts;
    if (own.begin != 0) parts.push_back(in_range(in, base, axis, {0, own.begin}));
    parts.push_back(part);
    const bool is_last = extent ? own.end == *extent : own.end == Range::kToTheEnd;
    if (!is_last) parts.push_back(in_range(in, base, axis, {own.end}));
    return parts.size() == 1 ? parts[0] : concatenate(parts, axis);
  }
  if (!extent) in.unknown("the extent of what is written in steps must be known", base);
  const Range own = bounded(range, *extent);
  std::vector<int64_t> from(static_cast<size_t>(*extent));
  for (int64_t i = 0; i < *extent; ++i) from[static_cast<size_t>(i)] = i;
  for (int64_t i = own.begin, at = *extent; i < own.end; i += own.step) from[static_cast<size_t>(i)] = at++;
  return take(concatenate({base, part}, axis), make_ints(from), axis);
}

Value range_of(Operation& in, const Value& base, int axis, const Range& range) {
  if (in.rank(base.expr()) == 0) in.invalid("a tensor without dimensions has no parts");
  const int64_t* extent = as_int(in.shape(base.expr())[static_cast<size_t>(axis)]);
  const Range own = extent ? bounded(range, *extent) : range;
  if (own.step == 1 && own.begin == 0 && own.end == (extent ? *extent : Range::kToTheEnd)) return base;
  auto context = std::make_shared<TitledNode>(in.title());
  std::optional<Ints> strides = strides_of(in, base);
  if (strides) (*strides)[static_cast<size_t>(axis)] *= own.step;
  return in.importer().view_of(
      base, {[=](const Expr& x) { return in_range(*context, x, axis, own); },
             [=](const Expr& x, const Expr& value) { return with_range(*context, x, value, axis, own); }, strides});
}

Value element_of(Operation& in, const Value& base, int axis, int64_t index) {
  if (in.rank(base.expr()) == 0) in.invalid("a tensor without dimensions has no elements to select");
  const int64_t* extent = as_int(in.shape(base.expr())[static_cast<size_t>(axis)]);
  if (index < -Range::kToTheEnd || index >= Range::kToTheEnd || (extent && (index < -*extent || index >= *extent)))
    in.invalid("index " + std::to_string(index) + " of an axis of extent " + (extent ? std::to_string(*extent) : "?"));
  if (extent && index < 0) index += *extent;
  const Range range{index, index == -1 ? Range::kToTheEnd : index + 1};
  auto context = std::make_shared<TitledNode>(in.title());
  auto there = [=](const Expr& x) { return squeeze(in_range(*context, x, axis, range), int_array({axis})); };
  auto back = [=](const Expr& x, const Expr& value) {
    return with_range(*context, x, expand_dims(value, axis), axis, range);
  };
  std::optional<Ints> strides = strides_of(in, base);
  if (strides) strides->erase(strides->begin() + axis);
  return in.importer().view_of(base, {there, back, strides});
}

std::vector<Value> elements_of(Operation& in, const Value& base, int axis, const char* what) {
  std::vector<Value> out;
  for (int64_t i = 0, count = in.static_extent(base.expr(), axis, what); i < count; ++i)
    out.push_back(element_of(in, base, axis, i));
  return out;
}

std::optional<Ints> strides_of(const Operation& in, const Value& value) {
  if (!value.is_tensor() || !in.importer().changes_in_place()) return std::nullopt;
  if (value.cell->strides || value.cell->base) return value.cell->strides;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(value.expr());
  if (!shape) return std::nullopt;
  return contiguous_strides(*shape);
}

std::optional<Ints> strides_in_shape(const Ints& shape, const Ints& strides, const Ints& wanted) {
  if (product_of(shape) == 0) return contiguous_strides(wanted);
  Ints out(wanted.size(), 1);
  size_t left = wanted.size();
  // Dimensions that lie in memory as one are divided anew, from the last to the first.
  for (size_t end = shape.size(); end > 0;) {
    size_t begin = end - 1;
    int64_t count = shape[begin];
    while (begin > 0 && (shape[begin - 1] == 1 || strides[begin - 1] == count * strides[end - 1]))
      count *= shape[--begin];
    int64_t taken = 1;
    for (; left > 0 && (taken < count || wanted[left - 1] == 1); --left) {
      out[left - 1] = taken * strides[end - 1];
      taken *= wanted[left - 1];
    }
    if (taken != count) return std::nullopt;
    end = begin;
  }
  return out;
}

bool is_contiguous(const Operation& in, const Value& value) {
  std::optional<Ints> strides = strides_of(in, value);
  if (!strides) return !value.cell || !value.cell->base || value.cell->write;
  const Ints shape = *in.fixed_shape(value.expr()), wanted = contiguous_strides(shape);
  if (product_of(shape) == 0) return true;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && (*strides)[i] != wanted[i]) return false;
  return true;
}

}  // namespace tessera::torch
