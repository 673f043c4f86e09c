#include "frontend/torch/views.h"

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/small_constants.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// With bounds from 0 to the extent.
Range bounded(const Range& range, int64_t extent) {
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent); };
  Range out{bound(range.begin), bound(range.end), range.step};
  out.end = std::max(out.begin, out.end);
  return out;
}

Expr in_range(const NodeContext& in, const Expr& x, int axis, const Range& range) {
  if (const int64_t* extent = as_int(in.shape(x)[static_cast<size_t>(axis)])) {
    const Range own = bounded(range, *extent);
    if (range.step == 1)
      if (std::optional<NDArray> known = small_constant(x))
        return make_constant(part_of(*known, axis, own.begin, own.end));
    return slice(x, axis, range.begin, range.end, range.step);
  }
  return onnx::apply(in, "Slice",
                     {x, make_ints({range.begin}), make_ints({range.end}), make_ints({axis}), make_ints({range.step})});
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
    if (extent) {
      std::optional<NDArray> whole = small_constant(base), written = small_constant(part);
      if (whole && written && (*written).shape()[static_cast<size_t>(axis)] == own.end - own.begin &&
          in.fixed_shape(in_range(in, base, axis, own)) == in.fixed_shape(part))
        return make_constant(with_part(*whole, *written, axis, own.begin));
    }
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

Value element_at_run_time(Operation& in, const Value& base, int axis, const Expr& index) {
  Expr zero = make_scalar(0, DataType::Int(64)), wide = cast_if_needed(in, index, DataType::Int(64));
  Expr at = where(less(wide, zero), add(wide, extent_at_run_time(in, base.expr(), axis)), wide);
  auto context = std::make_shared<TitledNode>(in.title());
  auto write = [=](const Expr& x, const Expr& value) {
    Expr numbers = onnx::apply(*context, "Range",
                               {zero, extent_at_run_time(*context, x, axis), make_scalar(1, DataType::Int(64))});
    Expr is_there = equal(numbers, at);
    const int behind = static_cast<int>(context->rank(x)) - axis - 1;
    if (behind > 0) is_there = expand_dims(is_there, 1, behind);
    return where(is_there, expand_dims(cast_if_needed(*context, value, context->dtype(x)), axis), x);
  };
  return in.importer().view_of(base, {[=](const Expr& x) { return take(x, at, axis); }, write});
}

Value range_at_run_time(Operation& in, const Value& base, int axis, const Expr& begin, const Expr& end, int64_t step) {
  auto context = std::make_shared<TitledNode>(in.title());
  auto part = [=](const Expr& x, const Expr& from, const Expr& to, int64_t by) {
    return onnx::apply(*context, "Slice", {x, from, to, make_ints({axis}), make_ints({by})});
  };
  auto read = [=](const Expr& x) { return part(x, begin, end, step); };
  auto write = [=](const Expr& x, const Expr& value) {
    if (step != 1) context->unsupported("writing in steps between bounds that a run decides");
    // The bounds as they are taken: from 0 to the extent, the end not before the beginning.
    Expr extent = reshape(extent_at_run_time(*context, x, axis), int_array({1})), none = make_ints({0});
    auto bound = [&](const Expr& at) {
      return minimum(maximum(where(less(at, none), add(at, extent), at), none), extent);
    };
    Expr from = bound(begin), to = maximum(bound(end), from);
    Expr cast = cast_if_needed(*context, value, context->dtype(x));
    Expr whole = concatenate({part(x, none, from, 1), cast, part(x, to, extent, 1)}, axis);
    return onnx::apply(*context, "Reshape", {whole, shape_at_run_time(x)});
  };
  return in.importer().view_of(base, {read, write});
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
