// Elements written by index.

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/ops/indices.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <cmath>

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Bool tensors are written as bytes.
struct Numbers {
  explicit Numbers(const Operation& in, const Expr& x) : in(in), dtype(in.dtype(x)) {
    work = dtype.is_bool() ? DataType::UInt(8) : dtype;
  }
  Expr of(const Expr& x) const { return as_type(in, as_type(in, x, dtype), work); }
  Expr back(const Expr& x) const { return as_type(in, x, dtype); }
  const Operation& in;
  DataType dtype, work;
};

/// By one index for each update. The updates may reach further than the indices.
Expr scattered(const Operation& in, const std::string& how) {
  Expr x = in[0], index = in["index"];
  Numbers numbers(in, x);
  const bool is_scalar = in.rank(x) == 0;
  const int axis = in.axis_of(in.integer("dim"), in.rank(x));
  const Value& source = in.has("src") ? in.value("src") : in.value("value");
  Expr update;
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(index);
  if (source.is_tensor() && in.rank(source.expr()) > 0) {
    update = source.expr();
    std::optional<std::vector<int64_t>> own = in.fixed_shape(update);
    for (size_t i = 0; shape && own && i < shape->size(); ++i)
      if ((*own)[i] > (*shape)[i]) update = slice(update, static_cast<int>(i), 0, (*shape)[i]);
  } else {
    Expr scalar = as_type(in, source, in.dtype(x));
    update = shape ? broadcast_to(scalar, int_array(*shape)) : broadcast_to_like(scalar, index);
  }
  Expr data = numbers.of(x);
  if (is_scalar) return numbers.of(reshape(update, Array<PrimExpr>()));
  return numbers.back(
      onnx::apply(in, "ScatterElements", {data, index, numbers.of(update)}, {{"axis", axis}, {"reduction", how}}));
}

Values scattered_of(Operation& in) {
  std::string how = in.text("reduce", "none");
  if (how == "multiply") how = "mul";
  return {scattered(in, how)};
}
Values scatter_added(Operation& in) { return {scattered(in, "add")}; }
/// The greatest or least number of a type.
Value limit_of(DataType dtype, bool is_greatest) {
  if (is_float(dtype)) return Value::of(is_greatest ? INFINITY : -INFINITY);
  const int bits = dtype.bits - (dtype.is_int() ? 1 : 0);
  const int64_t greatest = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  return Value::of(is_greatest ? greatest : dtype.is_int() ? -greatest - 1 : 0);
}

Values scatter_reduced(Operation& in) {
  const std::string given = in.text("reduce", "sum");
  const bool is_mean = given == "mean", has_self = in.flag("include_self", true);
  const std::string how = given == "prod" ? "mul" : given == "amax" ? "max" : given == "amin" ? "min" : "add";
  if (how == "add" && given != "sum" && !is_mean) in.invalid("the reduction \"" + given + "\"");
  if (has_self && !is_mean) return {scattered(in, how)};
  Expr x = in[0], index = in["index"];
  const DataType dtype = in.dtype(x);
  if (in.rank(x) == 0) in.unsupported("scatter_reduce of a number");
  auto with = [&](const Expr& self, const Value& source, const std::string& reduction) {
    Operation::Args args = in.args();
    std::erase_if(args, [](const auto& arg) { return arg.first == "src" || arg.first == "self"; });
    args.insert(args.begin(), {{"self", Value(self)}, {"src", source}});
    Operation own(in.importer(), in.node(), args);
    return scattered(own, reduction);
  };
  // What is written to begins with a number that changes nothing.
  Expr base = x;
  if (!has_self) {
    Value nothing = Value::of(static_cast<int64_t>(how == "mul"));
    if (how == "max" || how == "min") nothing = limit_of(dtype, how == "min");
    base = with(x, nothing, "none");
  }
  Expr out = with(base, in.value("src"), how);
  if (!is_mean) return {out};
  const DataType number = DataType::Int(64);
  Expr count = has_self ? ones_like(cast(x, number)) : zeros_like(cast(x, number));
  count = with(count, Value(ones_like(cast(index, number))), "add");
  count = as_type(in, maximum(count, make_scalar(1, number)), dtype);
  return {call_op(is_float(dtype) ? "divide" : "floor_divide", {out, count})};
}

/// Updates at index tuples, for NumPy's assignment by several arrays.
Values put_at(Operation& in) {
  Expr x = in[0];
  Numbers numbers(in, x);
  const bool adds = in.flag("accumulate", false);
  const std::vector<Value>& given = in.items("indices");
  Expr values = in["values"];
  // A mask over the first dimensions with one value for all chosen elements.
  if (given.size() == 1 && !given[0].is_absent() && in.dtype(in.tensor_of(given[0])).is_bool() && !adds) {
    std::optional<std::vector<int64_t>> shape = in.fixed_shape(values);
    if (shape && product_of(*shape) == 1) {
      Expr mask = in.tensor_of(given[0]), value = as_type(in, reshape(values, Array<PrimExpr>()), in.dtype(x));
      const auto behind = static_cast<int>(in.rank(x) - in.rank(mask));
      if (behind > 0) mask = expand_dims(mask, static_cast<int>(in.rank(mask)), behind);
      return {where(mask, value, x)};
    }
  }
  IndexList list = index_list(in, x);
  if (list.axes.empty()) return {broadcast_to_like(numbers.back(numbers.of(values)), x)};
  const auto rank = static_cast<int64_t>(in.rank(x));
  std::vector<int64_t> order, inverse(static_cast<size_t>(rank));
  for (int axis : list.axes) order.push_back(axis);
  for (int64_t i = 0; i < rank; ++i)
    if (std::find(list.axes.begin(), list.axes.end(), static_cast<int>(i)) == list.axes.end()) order.push_back(i);
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  bool moves = !std::is_sorted(order.begin(), order.end());
  Expr data = numbers.of(x);
  if (moves) data = transpose(data, int_array(order));
  Expr tuples = broadcast_tuples(in, list.indices);
  const size_t index_rank = in.rank(tuples) - 1;
  std::vector<int64_t> last;
  for (size_t i = 1; i <= index_rank; ++i) last.push_back(static_cast<int64_t>(i));
  last.push_back(0);
  Expr at = index_rank == 0 ? tuples : transpose(tuples, int_array(last));
  // The updates: what the indices would give.
  bool adjacent = true;
  for (size_t i = 1; i < list.axes.size(); ++i) adjacent &= list.axes[i] == list.axes[i - 1] + 1;
  const int64_t first = adjacent ? list.axes[0] : 0;
  Expr update = numbers.of(values);
  Expr like = onnx::apply(in, "GatherND", {data, at});
  std::vector<int64_t> given_order;  // (before, index.., behind) -> (index.., before, behind)
  for (size_t i = 0; i < index_rank; ++i) given_order.push_back(first + static_cast<int64_t>(i));
  for (int64_t i = 0; i < first; ++i) given_order.push_back(i);
  for (auto i = static_cast<int64_t>(first + static_cast<int64_t>(index_rank)); i < static_cast<int64_t>(in.rank(like));
       ++i)
    given_order.push_back(i);
  if (first > 0) {  // broadcast in the order that the program means, then moved
    std::vector<int64_t> natural(given_order.size());
    for (size_t i = 0; i < given_order.size(); ++i)
      natural[static_cast<size_t>(given_order[i])] = static_cast<int64_t>(i);
    Expr shaped = transpose(like, int_array(natural));
    update = transpose(broadcast_to_like(update, shaped), int_array(given_order));
  } else if (std::optional<std::vector<int64_t>> shape = in.fixed_shape(like)) {
    if (in.fixed_shape(update) != shape) update = broadcast_to(update, int_array(*shape));
  } else if (in.rank(update) != in.rank(like)) {
    update = broadcast_to_like(update, like);
  }
  Expr out = onnx::apply(in, "ScatterND", {data, at, update}, {{"reduction", adds ? "add" : "none"}});
  if (moves) out = transpose(out, int_array(inverse));
  return {numbers.back(out)};
}

/// Slices along an axis, one for each index.
Converter along_index(const char* what) {
  return [what](Operation& in) {
    Expr x = in[0], index = in["index"];
    Numbers numbers(in, x);
    const size_t rank = in.rank(x);
    const int axis = in.axis_of(in.integer("dim"), rank);
    std::string_view kind = what;
    Ints shape = in.static_shape(x, "writing slices by index");
    std::vector<int64_t> part = shape;
    part[static_cast<size_t>(axis)] = in.static_shape(index, "writing slices by index").at(0);
    Expr update;
    if (kind == "fill") {
      update = broadcast_to(as_type(in, in.value("value"), numbers.dtype), int_array(part));
    } else {
      update = in[in.has("source") ? "source" : "tensor"];
      if (kind == "add" && in.number("alpha", 1) != 1)
        update = multiply(update, as_type(in, in.value("alpha"), in.dtype(update)));
    }
    Expr spread = wrapped_index(in, index, x, axis);
    if (axis > 0) spread = expand_dims(spread, 0, axis);
    if (static_cast<size_t>(axis) + 1 < rank) spread = expand_dims(spread, axis + 1, static_cast<int>(rank) - axis - 1);
    return Values{numbers.back(onnx::apply(in, "ScatterElements",
                                           {numbers.of(x), broadcast_to(spread, int_array(part)), numbers.of(update)},
                                           {{"axis", axis}, {"reduction", kind == "add" ? "add" : "none"}}))};
  };
}

Values masked_scattered(Operation& in) {
  // The i-th set element of the mask takes the i-th element of the source.
  Expr x = in[0], mask = as_type(in, in.value("mask"), DataType::Bool()),
       source = reshape(in["source"], int_array({-1}));
  Ints shape = in.static_shape(x, "masked_scatter");
  Expr flat = reshape(broadcast_to(mask, int_array(shape)), int_array({-1}));
  Expr counts = onnx::apply(in, "CumSum", {cast(flat, DataType::Int(64)), make_scalar(0, DataType::Int(64))});
  Expr at = maximum(subtract(counts, make_scalar(1, DataType::Int(64))), make_scalar(0, DataType::Int(64)));
  return {reshape_to(where(flat, take(source, at, 0), reshape(x, int_array({-1}))), shape)};
}

Values counted_bins(Operation& in) {
  Expr x = in[0];
  // As many bins as the greatest number asks for, which a run decides.
  const int64_t least = in.integer("minlength", 0);
  Expr top = add(cast(reduce("max", x, nullptr), DataType::Int(64)), make_scalar(1, DataType::Int(64)));
  if (least > 0) top = maximum(top, make_scalar(static_cast<double>(least), DataType::Int(64)));
  const bool has_weights = in.has("weights");
  const DataType dtype = has_weights ? in.dtype(in["weights"]) : DataType::Int(64);
  Expr zeros = onnx::apply(in, "Expand", {make_ints({0}), reshape(top, int_array({1}))});
  zeros = as_type(in, zeros, dtype);
  Expr ones = has_weights ? in["weights"] : ones_like(cast(x, DataType::Int(64)));
  return {onnx::apply(in, "ScatterElements", {zeros, x, ones}, {{"axis", 0}, {"reduction", "add"}})};
}

}  // namespace

Rows scatter_rows() {
  return {
      {"aten::_index_put_impl", put_at},
      {"aten::_unsafe_index_put", put_at},
      {"aten::bincount", counted_bins},
      {"aten::index_add", along_index("add")},
      {"aten::index_copy", along_index("copy")},
      {"aten::index_fill", along_index("fill")},
      {"aten::index_put", put_at},
      {"aten::masked_scatter", masked_scattered},
      {"aten::scatter", scattered_of},
      {"aten::scatter_add", scatter_added},
      {"aten::scatter_reduce", scatter_reduced},
  };
}

}  // namespace tessera::torch
