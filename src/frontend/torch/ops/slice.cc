// Parts of tensors along an axis. They are views, which in-place operators write through.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/lists.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/views.h"
#include "ir/prim/ops.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr one_int(const Operation& in, const Value& value) { return in.int_vector(value); }

/// Elements [start, end) in steps, both counted from the end where negative.
Values sliced_of(Operation& in) {
  if (in.value(0).kind == Value::List) return {sliced_list(in, in.value(0))};
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(x));
  const int64_t step = in.integer("step", 1);
  if (step < 1) in.invalid("the step is " + std::to_string(step));
  const Value &first = in.value_or_absent("start"), &last = in.value_or_absent("end");
  std::optional<int64_t> begin = first.is_absent() ? 0 : in.known_int(first),
                         end = last.is_absent() ? INT64_MAX : in.known_int(last);
  if (begin && end) {
    auto bound = [](int64_t at) { return std::clamp<int64_t>(at, -Range::kToTheEnd, Range::kToTheEnd); };
    return {range_of(in, in.value(0), axis, {bound(*begin), bound(*end), step})};
  }
  auto number = [&](const Value& given, int64_t otherwise) {
    return given.is_absent() ? make_ints({otherwise}) : one_int(in, given);
  };
  return {range_at_run_time(in, in.value(0), axis, number(first, 0), number(last, INT64_MAX), step)};
}

Values narrowed(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim"), in.rank(x));
  std::optional<int64_t> start = in.known_int(in.value("start")), length = in.known_int(in.value("length"));
  const bool is_small = start && length && std::max(std::abs(*start), std::abs(*length)) < Range::kToTheEnd / 2;
  if (is_small && *length >= 0 && (*start >= 0 || *start + *length <= 0)) {
    const bool is_last = *start < 0 && *start + *length == 0;
    return {range_of(in, in.value(0), axis, {*start, is_last ? Range::kToTheEnd : *start + *length})};
  }
  Expr from = one_int(in, in.value("start")), to = add(from, one_int(in, in.value("length")));
  return {range_at_run_time(in, in.value(0), axis, from, to, 1)};
}

/// One element of an axis, which goes away.
Values selected(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim"), in.rank(x));
  std::optional<int64_t> known = in.known_int(in.value("index"));
  if (known) return {element_of(in, in.value(0), axis, *known)};
  Expr index = squeeze(one_int(in, in.value("index")), int_array({0}));
  return {element_at_run_time(in, in.value(0), axis, index)};
}

std::vector<Value> parts_of(Operation& in, int axis, const std::vector<int64_t>& sizes) {
  std::vector<Value> out;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > Range::kToTheEnd - at) in.invalid("a part of " + std::to_string(size) + " elements");
    out.push_back(range_of(in, in.value(0), axis, {at, at + size}));
    at += size;
  }
  return out;
}

/// Parts whose sizes a run decides.
std::vector<Value> parts_at_run_time(Operation& in, int axis, const std::vector<Value>& sizes) {
  std::vector<Value> out;
  Expr at = make_ints({0});
  for (const Value& size : sizes) {
    Expr end = add(at, one_int(in, size));
    out.push_back(range_at_run_time(in, in.value(0), axis, at, end, 1));
    at = end;
  }
  return out;
}

Values split_by_size(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(x));
  const char* name = in.has("split_sizes") ? "split_sizes" : in.has("split_size") ? "split_size" : "sections";
  std::vector<int64_t> sizes;
  if (in.value(name).kind == Value::List) {
    const std::vector<Value>& given = in.items(name);
    if (given.size() == 1) return {Value::of({in.value(0)})};
    auto is_known = [&](const Value& size) { return in.known_int(size).has_value(); };
    if (!std::all_of(given.begin(), given.end(), is_known)) return {Value::of(parts_at_run_time(in, axis, given))};
    sizes = in.integers(name);
  } else {
    const int64_t each = in.integer(name), extent = in.static_extent(x, axis, "split");
    if (each < 1) in.invalid("the size of a part is " + std::to_string(each));
    for (int64_t at = 0; at < std::max<int64_t>(extent, 1); at += each) sizes.push_back(std::min(each, extent - at));
  }
  return {Value::of(parts_of(in, axis, sizes))};
}
Values chunked(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(x));
  const int64_t count = in.integer("chunks");
  if (count < 1) in.invalid("the number of chunks is " + std::to_string(count));
  const int64_t* known = as_int(in.shape(x)[static_cast<size_t>(axis)]);
  if (!known) in.unknown("the extent of what is divided into chunks must be known", x);
  const int64_t each = std::max<int64_t>((*known + count - 1) / count, 1);
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < std::max<int64_t>(*known, 1); at += each) sizes.push_back(std::min(each, *known - at));
  return {Value::of(parts_of(in, axis, sizes))};
}
Values tensor_split_of(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(x));
  const int64_t extent = in.static_extent(x, axis, "tensor_split");
  std::vector<int64_t> sizes;
  if (in.has("sections")) {
    const int64_t count = in.integer("sections");
    if (count < 1) in.invalid("there are no sections");
    for (int64_t i = 0; i < count; ++i) sizes.push_back(extent / count + (i < extent % count));
  } else {
    int64_t at = 0;
    Ints ends = in.integers("indices");
    ends.push_back(extent);
    for (int64_t end : ends) {
      const int64_t to = std::clamp<int64_t>(end < 0 ? end + extent : end, at, extent);
      sizes.push_back(to - at);
      at = to;
    }
  }
  return {Value::of(parts_of(in, axis, sizes))};
}
Values unbound(Operation& in) {
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(in[0]));
  return {Value::of(elements_of(in, in.value(0), axis, "unbind"))};
}

Values unfolded_windows(Operation& in) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  const int axis = in.axis_of(in.integer("dimension"), rank);
  const int64_t size = in.integer("size"), step = in.integer("step");
  const int64_t extent = in.static_extent(x, axis, "unfold");
  if (size < 0 || step < 1 || size > extent) in.invalid("windows that do not fit the data");
  const int64_t count = (extent - size) / step + 1;
  std::vector<int64_t> indices, order;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < size; ++k) indices.push_back(i * step + k);
  for (int64_t i = 0; i <= static_cast<int64_t>(rank); ++i)
    if (i != axis + 1) order.push_back(i);
  order.push_back(axis + 1);
  return {in.importer().view_of(
      in.value(0), {[=](const Expr& whole) {  // (.., count, size, ..), the last moved to the end
        return transpose(take(whole, reshape_to(make_ints(indices), {count, size}), axis), int_array(order));
      }})};
}

/// Each element less the one before it, so many times; `prepend` and `append` are put around the data first.
Values differences_of(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", -1), in.rank(x));
  Array<Expr> parts;
  if (in.has("prepend")) parts.push_back(in["prepend"]);
  parts.push_back(x);
  if (in.has("append")) parts.push_back(in["append"]);
  if (parts.size() > 1) x = concatenate(parts, axis);
  for (int64_t i = in.integer("n", 1); i > 0; --i) {
    Expr after = slice(x, axis, 1, INT32_MAX), before = slice(x, axis, 0, -1);
    x = in.dtype(x) == DataType::Bool() ? call_op("not_equal", {after, before}) : subtract(after, before);
  }
  return {x};
}

/// What is written into a part: a functional form of an assignment.
Values slice_scattered(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", 0), in.rank(x));
  const int64_t start = in.integer("start", 0), end = in.has("end") ? in.integer("end") : Range::kToTheEnd;
  if (in.static_extent(in["src"], axis, "slice_scatter") == 0) return {x};
  return {with_range(in, x, in["src"], axis, {start, std::min(end, Range::kToTheEnd), in.integer("step", 1)})};
}
Values select_scattered(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim"), in.rank(x));
  const int64_t index = in.integer("index");
  return {with_range(in, x, expand_dims(in["src"], axis), axis, {index, index == -1 ? Range::kToTheEnd : index + 1})};
}

/// All of a tensor replaced, broadcast and cast to what it is.
Values replaced(Operation& in) {
  Expr x = in[0], value = as_type(in, in.value(1), in.dtype(x));
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(x), own = in.fixed_shape(value);
  if (shape && own && *shape == *own) return {value};
  return {shape ? broadcast_to(value, int_array(*shape)) : broadcast_to_like(value, x)};
}

}  // namespace

Rows slice_rows() {
  return {
      {"aten::chunk", chunked},
      {"aten::copy", replaced},
      {"aten::diff", differences_of},
      {"aten::hsplit", tensor_split_of},
      {"aten::narrow", narrowed},
      {"aten::select", selected},
      {"aten::select_scatter", select_scattered},
      {"aten::slice", sliced_of},
      {"aten::slice_scatter", slice_scattered},
      {"aten::split", split_by_size},
      {"aten::split_with_sizes", split_by_size},
      {"aten::tensor_split", tensor_split_of},
      {"aten::unbind", unbound},
      {"aten::unfold", unfolded_windows},
      {"aten::unsafe_chunk", chunked},
      {"aten::unsafe_split", split_by_size},
      {"aten::unsafe_split_with_sizes", split_by_size},
  };
}

}  // namespace tessera::torch
