#include "frontend/torch/packed.h"

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

const DataType kInt64 = DataType::Int(64);

/// (steps, batch): which steps a sequence has.
Expr steps_mask(const Operation& in, const Expr& padded, const Expr& lengths) {
  const int64_t* steps = as_int(in.shape(padded)[0]);
  constexpr int64_t kMaxNumbers = 1 << 20;
  Expr counts;
  if (steps && *steps <= kMaxNumbers) {
    std::vector<int64_t> numbers(static_cast<size_t>(*steps));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    counts = make_ints(numbers);
  } else {
    counts = call_op("dyn.iota", {extent_at_run_time(in, padded, 0)});
  }
  return less(expand_dims(counts, 1), expand_dims(lengths, 0));
}

const Packed& packed_of(const Operation& in, const Value& batch_sizes) {
  if (!batch_sizes.packed) in.unsupported("batch sizes that are not those of a packed sequence of the program");
  return *batch_sizes.packed;
}

Expr with_steps_first(const Expr& x, size_t rank) {
  std::vector<int64_t> order{1, 0};
  for (size_t i = 2; i < rank; ++i) order.push_back(static_cast<int64_t>(i));
  return transpose(x, int_array(order));
}

Values packed_from(Operation& in) {
  Expr x = in["input"], lengths = cast_if_needed(in, in["lengths"], kInt64);
  if (in.rank(x) < 2 || in.rank(lengths) != 1) in.invalid("sequences have steps and a batch, and one length each");
  if (in.flag("batch_first", false)) x = with_steps_first(x, in.rank(x));
  Value data = packed_value(in, x, lengths);
  Expr sizes = sum(cast(steps_mask(in, x, lengths), kInt64), int_array({1}));
  Value batch_sizes(onnx::apply(in, "Compress", {sizes, greater(sizes, make_scalar(0, kInt64))}, {{"axis", 0}}));
  batch_sizes.packed = data.packed;
  return {data, batch_sizes};
}

Values padded_from(Operation& in) {
  const Value& sizes = in.value("batch_sizes");
  Expr x = padded_steps(in, in.value("data"), sizes), lengths = lengths_of(in, sizes);
  Expr mask = steps_mask(in, x, lengths);
  const size_t rank = in.rank(x);
  if (rank > 2) mask = expand_dims(mask, 2, static_cast<int>(rank) - 2);
  x = where(mask, x, as_type(in, Value::of(in.number("padding_value", 0)), in.dtype(x)));
  // Of a trace it is the extent that the data had before it was packed, in terms of the inputs.
  const std::optional<int64_t> given = in.has("total_length") ? in.known_int(in.value("total_length")) : -1;
  const int64_t total = given.value_or(0);
  const int64_t* steps = as_int(in.shape(x)[0]);
  if (total > 0 && steps && total >= *steps) {
    std::vector<int64_t> before(rank, 0), after(rank, 0);
    after[0] = total - *steps;
    if (after[0] > 0) x = pad_with(x, before, after, in.number("padding_value", 0));
  } else {
    Expr longest = total > 0 ? make_ints({total})
                   : !given  ? in.int_vector(in.value("total_length"))
                             : reshape(reduce("max", lengths, nullptr), int_array({1}));
    x = onnx::apply(in, "Slice", {x, make_ints({0}), longest, make_ints({0}), make_ints({1})});
  }
  if (in.flag("batch_first", false)) x = with_steps_first(x, rank);
  return {x, lengths};
}

}  // namespace

Value packed_value(const Operation& in, const Expr& padded, const Expr& lengths) {
  std::vector<int64_t> flat{-3};
  for (size_t i = 2; i < in.rank(padded); ++i) flat.push_back(0);
  Expr chosen = reshape(steps_mask(in, padded, lengths), int_array({-1}));
  Value out(onnx::apply(in, "Compress", {reshape(padded, int_array(flat)), chosen}, {{"axis", 0}}));
  out.packed = std::make_shared<const Packed>(Packed{padded, lengths});
  return out;
}

Expr padded_steps(const Operation& in, const Value& data, const Value& batch_sizes) {
  if (data.packed) return data.packed->padded;
  const Packed& like = packed_of(in, batch_sizes);
  Expr x = in.tensor_of(data), mask = steps_mask(in, like.padded, like.lengths);
  Expr counts = onnx::apply(in, "CumSum", {cast(reshape(mask, int_array({-1})), kInt64), make_scalar(0, kInt64)});
  Expr at = maximum(subtract(counts, make_scalar(1, kInt64)), make_scalar(0, kInt64));
  Expr rows = take(x, at, 0);
  std::vector<Expr> shape{reshape(extent_at_run_time(in, like.padded, 0), int_array({1})),
                          reshape(extent_at_run_time(in, like.padded, 1), int_array({1}))};
  for (size_t i = 1; i < in.rank(x); ++i)
    shape.push_back(reshape(extent_at_run_time(in, x, static_cast<int>(i)), int_array({1})));
  return onnx::apply(in, "Reshape", {rows, concatenate(Array<Expr>(shape.begin(), shape.end()), 0)});
}

Expr lengths_of(const Operation& in, const Value& batch_sizes) { return packed_of(in, batch_sizes).lengths; }

Rows packed_rows() {
  return {
      {"aten::_pack_padded_sequence", packed_from},
      {"aten::_pad_packed_sequence", padded_from},
  };
}

}  // namespace tessera::torch
