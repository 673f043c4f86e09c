// Sorting, searching and running sums.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "frontend/torch/views.h"
#include "relay/attrs/search.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Values top_elements(Operation& in) {
  Expr x = in[0];
  const int axis = in.axis_of(in.integer("dim", -1), in.rank(x));
  if (in.rank(x) == 0) return {x, make_scalar(0, DataType::Int(64))};
  std::vector<Expr> out = onnx::apply_all(in, "TopK", {x, in.int_vector(in.value("k"))},
                                          {{"axis", axis}, {"largest", in.flag("largest", true)}}, 2);
  return {out[0], out[1]};
}

/// All elements in order, equal ones in the order of the data.
std::vector<Expr> sorted_with_indices(Operation& in) {
  Expr x = in[0];
  const DataType dtype = in.dtype(x), work = dtype.is_bool() ? DataType::UInt(8) : dtype;
  if (in.rank(x) == 0) return {x, make_scalar(0, DataType::Int(64))};
  const int axis = in.axis_of(in.integer("dim", -1), in.rank(x));
  Expr indices = call_op("argsort", {as_type(in, x, work)}, make_attrs<ArgsortAttrs>([&](auto& attrs) {
                           attrs.axis = axis;
                           attrs.is_ascend = !in.flag("descending", false);
                           attrs.dtype = DataType::Int(64);
                         }));
  return {onnx::apply(in, "GatherElements", {x, indices}, {{"axis", axis}}), indices};
}
Values sorted_of(Operation& in) {
  std::vector<Expr> out = sorted_with_indices(in);
  return {out[0], out[1]};
}
Values order_of(Operation& in) { return {sorted_with_indices(in)[1]}; }

Values searched(Operation& in, const Expr& sequence, const Value& values) {
  bool right = in.flag("right", false);
  if (in.has("side")) right = in.text("side", "left") == "right";
  const DataType dtype = in.flag("out_int32", false) ? DataType::Int(32) : DataType::Int(64);
  Expr wanted = in.tensor_of(values);
  const DataType common = wider_type(in.dtype(sequence), in.dtype(wanted));
  Expr out = call_op("searchsorted", {as_type(in, sequence, common), as_type(in, wanted, common)},
                     make_attrs<SearchSortedAttrs>([&](auto& attrs) {
                       attrs.right = right;
                       attrs.dtype = dtype;
                     }));
  return {out};
}
Values searched_in_sorted(Operation& in) { return searched(in, in[0], in.value(1)); }
Values in_buckets(Operation& in) { return searched(in, in[1], in.value(0)); }

Converter running(const char* op) {
  return [op](Operation& in) {
    Expr x = in[0];
    if (std::optional<DataType> dtype = in.dtype_given()) x = as_type(in, x, *dtype);
    else if (!is_float(in.dtype(x))) x = as_type(in, x, DataType::Int(64));
    if (in.rank(x) == 0) return Values{x};
    const int axis = in.axis_of(in.integer("dim"), in.rank(x));
    return Values{call_op(op, {x}, make_attrs<ScanopAttrs>([&](auto& attrs) { attrs.axis = PrimExpr(axis); }))};
  };
}

/// The distinct elements in order, where each went, how often each is there.
Values unique_of(Operation& in) {
  std::vector<Expr> out = onnx::apply_all(in, "Unique", {in[0]}, {{"sorted", 1}}, 4);
  Expr where_to = out[2];
  if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0])) where_to = reshape_to(where_to, *shape);
  return {out[0], where_to, out[3]};
}
Values unique_slices(Operation& in) {
  std::vector<Expr> out = onnx::apply_all(in, "Unique", {in[0]},
                                          {{"sorted", 1}, {"axis", in.axis_of(in.integer("dim"), in.rank(in[0]))}}, 4);
  return {out[0], out[2], out[3]};
}

Values diagonal_of(Operation& in) {
  Expr x = in[0];
  const size_t rank = in.rank(x);
  const int64_t offset = in.integer("offset", 0);
  const int first = in.axis_of(in.integer("dim1", 0), rank), second = in.axis_of(in.integer("dim2", 1), rank);
  Ints shape = in.static_shape(x, "a diagonal");
  std::vector<int64_t> order, rest, indices;
  for (size_t i = 0; i < rank; ++i)
    if (static_cast<int>(i) != first && static_cast<int>(i) != second) order.push_back(static_cast<int64_t>(i));
  for (int64_t axis : order) rest.push_back(shape[static_cast<size_t>(axis)]);
  order.push_back(first);
  order.push_back(second);
  const int64_t rows = shape[static_cast<size_t>(first)], columns = shape[static_cast<size_t>(second)];
  for (int64_t i = 0; i < rows; ++i)
    if (i + offset >= 0 && i + offset < columns) indices.push_back(i * columns + i + offset);
  rest.push_back(rows * columns);
  const int last = static_cast<int>(rest.size()) - 1;
  Ints outer = rest, inverse(rank);
  outer.back() = rows;
  outer.push_back(columns);
  for (size_t i = 0; i < rank; ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  auto flat = [=](const Expr& base) { return reshape_to(transpose(base, int_array(order)), rest); };
  auto there = [=](const Expr& base) { return take(flat(base), make_ints(indices), last); };
  auto back = [=](const Expr& base, const Expr& value) {
    std::vector<int64_t> from(static_cast<size_t>(rows * columns));  // of all elements and then those of the diagonal
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i < indices.size(); ++i)
      from[static_cast<size_t>(indices[i])] = static_cast<int64_t>(from.size() + i);
    Expr all = take(concatenate({flat(base), value}, last), make_ints(from), last);
    return transpose(reshape_to(all, outer), int_array(inverse));
  };
  std::optional<Ints> own = strides_of(in, in.value(0)), strides;
  if (own) {
    strides.emplace();
    for (size_t i = 0; i + 2 < rank; ++i) strides->push_back((*own)[static_cast<size_t>(order[i])]);
    strides->push_back((*own)[static_cast<size_t>(first)] + (*own)[static_cast<size_t>(second)]);
  }
  return {in.importer().view_of(in.value(0), {there, back, strides})};
}

}  // namespace

Rows sort_rows() {
  return {
      {"aten::_unique2", unique_of},
      {"aten::argsort", order_of},
      {"aten::bucketize", in_buckets},
      {"aten::cumprod", running("cumprod")},
      {"aten::cumsum", running("cumsum")},
      {"aten::diagonal", diagonal_of},
      {"aten::searchsorted", searched_in_sorted},
      {"aten::sort", sorted_of},
      {"aten::topk", top_elements},
      {"aten::unique_dim", unique_slices},
  };
}

}  // namespace tessera::torch
