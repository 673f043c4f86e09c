// Attention as com.microsoft's operators have it.

#include <cmath>

#include "base/dtypes.h"
#include "frontend/common/extents.h"
#include "frontend/common/heads.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/fused_attention.h"
#include "frontend/onnx/nn/pad_dynamic.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "relay/attrs/index.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

int64_t fixed_extent(Operation& in, const Expr& x, size_t axis, const char* what) {
  auto* extent = in.shape(x)[axis].as<IntImm>();
  if (!extent) in.unknown(std::string(what) + " must be known", x);
  return extent->value;
}

bool is_fixed(Operation& in, const Expr& x, size_t axis) { return in.shape(x)[axis].as<IntImm>(); }

/// softmax(scale * query * key^T + bias) * value, of heads; keys and values may have fewer heads.
struct Scores {
  Operation& in;
  Expr query, key, value;
  double scale, cap = 0;
  Expr bias;  // empty: none

  Scores(Operation& op, Expr q, Expr k, Expr v) : in(op), query(std::move(q)), key(std::move(k)), value(std::move(v)) {
    scale = in.number("scale", 0);
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(fixed_extent(in, query, 3, "the size of heads")));
  }
  Expr number(double x) const { return make_scalar(x, in.dtype(query)); }
  void add_bias(const Expr& part) {
    Expr own = cast_if_needed(in, part, in.dtype(query));
    bias = bias.defined() ? add(bias, own) : own;
  }
  /// Where `seen` is false, `hidden` is added.
  void add_mask(const Expr& seen, double hidden) { add_bias(where(seen, number(0), number(hidden))); }

  Expr finished(Expr scores) const {
    if (cap > 0) scores = multiply(tanh(divide(scores, number(cap))), number(cap));
    if (bias.defined()) scores = add(scores, bias);
    return softmax_of(scores, -1);
  }

  /// Queries that share keys are rows of one matrix, so that keys are read where they are; of the scores,
  ///   (batch, keys, queries of a key * length, ...)  =>  (batch, queries, length, ...), and back
  Expr attended_in_groups(int64_t queries, int64_t keys) const {
    auto as_heads = [](const Expr& x, int64_t heads) {
      return reshape(reshape(x, int_array({0, -3, 0})), int_array({0, -4, heads, -1, 0}));
    };
    Expr scores = multiply(matmul_like_numpy(in, as_heads(query, keys), transposed_matrices(key)), number(scale));
    return as_heads(matmul_like_numpy(in, as_heads(finished(as_heads(scores, queries)), keys), value), queries);
  }

  Expr attended() {
    int64_t queries = fixed_extent(in, query, 1, "the number of heads"),
            keys = fixed_extent(in, key, 1, "their number");
    if (queries != keys) {
      if (keys < 1 || queries % keys) in.invalid("the heads of queries must be a multiple of those of keys");
      if (!is_fixed(in, key, 2)) return attended_in_groups(queries, keys);
      key = repeat(key, static_cast<int>(queries / keys), 1);
      value = repeat(value, static_cast<int>(queries / keys), 1);
    }
    Expr scores = multiply(matmul_like_numpy(in, query, transposed_matrices(key)), number(scale));
    return matmul_like_numpy(in, finished(scores), value);
  }
};

/// A mask of lengths (batch), of keys (batch, keys), or of queries and keys (batch, queries, keys).
Expr seen_by(Operation& in, const Expr& given, const Expr& data, const Expr& key) {
  Expr mask = cast_if_needed(in, given, kInt64);
  size_t rank = in.rank(mask);
  if (rank == 1) {
    if (!is_fixed(in, data, 0) && same_extent(in.shape(mask)[0], in.shape(data)[0]))
      return less(counting(in, key, 3), reshape(mask, int_array({-1, 1, 1, 1})));
    int64_t count = fixed_extent(in, mask, 0, "the mask of attention"), batch = fixed_extent(in, data, 0, "the batch");
    auto part = [&](int64_t i) {
      return reshape(slice(mask, 0, i * batch, (i + 1) * batch), int_array({-1, 1, 1, 1}));
    };
    if (count != batch && count != 2 * batch) in.unsupported("a mask of begins of packed rows");
    Expr seen = less(counting(in, key, 3), part(0));
    if (count == batch) return seen;
    return call_op("logical_and", {seen, call_op("greater_equal", {counting(in, key, 3), part(1)})});
  }
  if (rank == 2) return greater(reshape(mask, int_array({0, 1, 1, -1})), make_ints({0}));
  if (rank == 3) return greater(expand_dims(mask, 1), make_ints({0}));
  in.unsupported("a mask of four dimensions");
}

/// Keys up to the position of each query, the last of which has that of the last key.
Expr seen_before(Operation& in, const Expr& query, const Expr& key) {
  Expr before = subtract(extent_at_run_time(in, key, 2), extent_at_run_time(in, query, 2));
  if (std::optional<std::vector<int64_t>> known = in.constant_ints(before)) before = make_ints(*known);
  return call_op("less_equal", {counting(in, key, 3), add(counting(in, query, 2), before)});
}

}  // namespace

Values attention_of_projections(Operation& in, const Expr& projected, size_t mask, size_t past_input, size_t more) {
  if (in.integer("do_rotary", 0) != 0) in.unsupported("rotary embedding inside attention");
  if (in.integer("past_present_share_buffer", 0) != 0) in.unsupported("a past that shares memory with the present");
  int64_t heads = in.integer("num_heads"), whole = fixed_extent(in, projected, 2, "the width");
  Ints sizes = in.integers("qkv_hidden_sizes");
  if (sizes.empty()) sizes = {whole / 3, whole / 3, whole / 3};
  Expr query = split_heads(slice(projected, 2, 0, sizes[0]), heads);
  Expr key = split_heads(slice(projected, 2, sizes[0], sizes[0] + sizes[1]), heads);
  Expr value = split_heads(slice(projected, 2, sizes[0] + sizes[1], whole), heads);
  if (in.has(past_input)) {
    Expr past = in[past_input];
    auto part = [&](int i) { return squeeze(slice(past, 0, i, i + 1), int_array({0})); };
    key = concatenate({part(0), key}, 2);
    value = concatenate({part(1), value}, 2);
  }
  Scores scores(in, query, key, value);
  double hidden = in.number("mask_filter_value", -10000);
  if (in.has(mask)) scores.add_mask(seen_by(in, in[mask], in[0], key), hidden);
  if (in.integer("unidirectional", 0) != 0) scores.add_mask(seen_before(in, query, key), kNever);
  if (in.has(more)) scores.add_bias(in[more]);
  Values out{merge_heads(scores.attended())};
  if (in.wants(1)) out.push_back(stack({key, value}, 0));
  return out;
}

namespace {

/// Inputs: data, weight of all three projections, bias, mask, past (2, batch, heads, length, size), what is added to
/// scores.
Values fused_attention(Operation& in) {
  Expr projected = matmul_like_numpy(in, in[0], in[1]);
  if (in.has(2)) projected = add(projected, in[2]);
  return attention_of_projections(in, projected, 3, 4, 5);
}

/// Inputs: query, key, value, bias, a mask of keys, what is added to scores, past key and value. Queries may hold keys and
/// values too (batch, length, heads, 3, size), keys may hold values (..., 2, size), and keys may be split into heads already.
Values multi_head_attention(Operation& in) {
  if (in.has(8) || in.has(9)) in.unsupported("a past that shares memory with the present");
  int64_t heads = in.integer("num_heads");
  Expr query = in[0], key = in.get_or(1, nullptr), value = in.get_or(2, nullptr);
  auto unpacked = [&](const Expr& x, int i) {  // (batch, length, heads, parts, size)
    return transpose(squeeze(slice(x, 3, i, i + 1), int_array({3})), int_array({0, 2, 1, 3}));
  };
  auto with_bias = [&](const Expr& x, int64_t begin, int64_t end) {
    return in.has(3) ? add(x, slice(in[3], 0, begin, end)) : x;
  };
  if (in.rank(query) == 5) {
    if (in.has(3)) in.unsupported("a bias of packed heads");
    value = unpacked(query, 2), key = unpacked(query, 1), query = unpacked(query, 0);
  } else {
    int64_t width = fixed_extent(in, query, 2, "the width of heads");
    query = split_heads(with_bias(query, 0, width), heads);
    if (!key.defined()) in.invalid("there are neither keys nor packed ones");
    if (in.rank(key) == 5) {
      if (in.has(3)) in.unsupported("a bias of packed heads");
      value = unpacked(key, 1), key = unpacked(key, 0);
    } else if (in.rank(key) == 3) {
      if (!value.defined()) in.invalid("there are no values");
      int64_t last = fixed_extent(in, value, 2, "the width of heads");
      key = split_heads(with_bias(key, width, 2 * width), heads);
      value = split_heads(with_bias(value, 2 * width, 2 * width + last), heads);
    }
  }
  if (in.has(6)) {
    key = concatenate({in[6], key}, 2);
    value = concatenate({in[7], value}, 2);
  }
  Scores scores(in, query, key, value);
  double hidden = in.number("mask_filter_value", -10000);
  if (in.has(4)) {
    bool is_begins = in.rank(in[4]) == 1 && !same_extent(in.shape(in[4])[0], in.shape(query)[0]);
    if (is_begins) in.unsupported("a mask of begins of packed rows");
    scores.add_mask(seen_by(in, in[4], query, key), hidden);
  }
  if (in.integer("unidirectional", 0) != 0) scores.add_mask(seen_before(in, query, key), kNever);
  if (in.has(5)) scores.add_bias(in[5]);
  return {merge_heads(scores.attended()), key, value};
}

/// How many keys GroupQueryAttention has: old ones (input 3), and the most of a row with those that are new (input 6).
struct CacheSizes {
  Operation& in;
  std::optional<int64_t> past, total;
  Expr length;  // of what is new, as a vector of one number
  bool is_first = false, is_all_new = false;

  CacheSizes(Operation& op, const Expr& query) : in(op) {
    auto extent = [&](const Expr& x) {
      auto* known = in.shape(x)[2].as<IntImm>();
      return known ? std::optional<int64_t>(known->value) : std::nullopt;
    };
    past = in.has(3) ? extent(in[3]) : 0;
    if (std::optional<std::vector<int64_t>> known = in.constant_ints(in[6])) total = known->at(0);
    std::optional<int64_t> fresh = extent(query);
    length = fresh ? make_ints({*fresh}) : reshape(extent_at_run_time(in, query, 2), int_array({1}));
    is_first = total && fresh && *total == *fresh;
    is_all_new = past == 0 && (is_first || (!in.has(3) && !(total && fresh)));
  }
  /// A cache with room for all keys.
  Expr with_room(const Expr& cache) const {
    if (past && total) return pad_with(cache, {0, 0, 0, 0}, {0, 0, std::max<int64_t>(*total - *past, 0), 0}, 0);
    Expr all = reshape(cast_if_needed(in, in[6], kInt64), int_array({1}));
    Expr more = maximum(subtract(all, extent_at_run_time(in, cache, 2)), make_ints({0}));
    return padded_at_run_time(in, cache, concatenate({make_ints({0}), more}, 0), {2}, make_scalar(0, in.dtype(cache)),
                              "constant");
  }
};

/// Inputs: query (or all three packed), key, value, past key and value, the last position of each row, the length of the
/// longest with what is new, cosines, sines, positions, what is added to scores. New keys are written behind the old
/// ones of their row; a query sees what is not behind it.
Values group_query_attention(Operation& in) {
  for (size_t i = 11; i < in.size(); ++i)
    if (in.has(i)) in.unsupported("input " + std::to_string(i));
  if (in.integer("smooth_softmax", 0) > 0) in.unsupported("a smooth softmax");
  if (in.integer("causal", 1) == 0) in.unsupported("queries that see what is behind them");
  int64_t heads = in.integer("num_heads"), key_heads = in.integer("kv_num_heads");
  if (heads < 1 || key_heads < 1) in.invalid("there are no heads");
  Expr query = in[0], key = in.get_or(1, nullptr), value = in.get_or(2, nullptr);
  int64_t width = fixed_extent(in, query, 2, "the width of heads");
  if (!key.defined()) {
    int64_t size = width / (heads + 2 * key_heads), first = heads * size, second = first + key_heads * size;
    value = slice(query, 2, second, width), key = slice(query, 2, first, second), query = slice(query, 2, 0, first);
  }
  query = split_heads(query, heads), key = split_heads(key, key_heads), value = split_heads(value, key_heads);
  CacheSizes sizes(in, query);
  // Where the first of the new keys goes, in each row.
  Expr last = reshape(cast_if_needed(in, in[5], kInt64), int_array({-1, 1, 1, 1})), begin = make_ints({0});
  if (!sizes.is_first) begin = maximum(subtract(add(last, make_ints({1})), sizes.length), make_ints({0}));
  Expr position = add(counting(in, query, 2), begin);  // (batch or 1, 1, length, 1)
  if (in.integer("do_rotary", 0) != 0) {
    Expr at = in.has(9) ? cast_if_needed(in, in[9], kInt64) : squeeze(position, int_array({1, 3}));
    auto cached = [&](size_t i) { return expand_dims(checked_take(in, in[i], at, 0), 1); };
    int64_t turned = 2 * in.static_shape(in[7], "cosines").at(1);
    bool is_interleaved = in.integer("rotary_interleaved", 0) != 0;
    query = rotated(in, query, cached(7), cached(8), turned, is_interleaved);
    key = rotated(in, key, cached(7), cached(8), turned, is_interleaved);
  }
  auto written = [&](const Expr& fresh, size_t i) {
    if (sizes.is_all_new) return fresh;
    return call_op("scatter", {sizes.with_room(in[i]), broadcast_to_like(position, fresh), fresh},
                   make_attrs<ScatterAttrs>([](auto& attrs) { attrs.axis = 2; }));
  };
  if (!sizes.is_all_new && !in.has(3)) in.invalid("the total length asks for a past that is not there");
  Expr all_keys = written(key, 3), all_values = written(value, 4);
  Scores scores(in, query, all_keys, all_values);
  scores.cap = in.number("softcap", 0);
  scores.add_mask(call_op("less_equal", {counting(in, all_keys, 3), position}), kNever);
  if (int64_t window = in.integer("local_window_size", -1); window > 0)
    scores.add_mask(greater(counting(in, all_keys, 3), subtract(position, make_ints({window}))), kNever);
  if (in.has(10)) scores.add_bias(in[10]);
  return {merge_heads(scores.attended()), all_keys, all_values};
}

/// Inputs: data, positions, cosines, sines.
Values fused_rotary_embedding(Operation& in) {
  if (in.number("scale", 1) != 1) in.unsupported("a scale");
  if (in.integer("is_packed_batching", 0) != 0) in.unsupported("packed rows");
  bool is_flat = in.rank(in[0]) == 3;
  int64_t turned = in.integer("rotary_embedding_dim", 0), heads = in.integer("num_heads", 0);
  Expr x = in[0];
  if (is_flat) {
    if (heads == 0) heads = fixed_extent(in, x, 2, "the width") / (2 * in.static_shape(in[2], "cosines").at(1));
    x = split_heads(x, heads);
  }
  Expr position = cast_if_needed(in, in[1], kInt64);
  if (in.rank(position) == 1) {  // where the first lies
    position = add(expand_dims(position, 1), squeeze(counting(in, x, 3), int_array({1, 2})));
  }
  auto cached = [&](size_t i) { return expand_dims(checked_take(in, in[i], position, 0), 1); };
  Expr out = rotated(in, x, cached(2), cached(3), turned, in.integer("interleaved", 0) != 0);
  return {is_flat ? merge_heads(out) : out};
}

}  // namespace

Rows fused_attention_rows() {
  return {
      {"Attention", 1, fused_attention, kMicrosoftDomain},
      {"GroupQueryAttention", 1, group_query_attention, kMicrosoftDomain},
      {"MultiHeadAttention", 1, multi_head_attention, kMicrosoftDomain},
      {"RotaryEmbedding", 1, fused_rotary_embedding, kMicrosoftDomain},
  };
}

}  // namespace tessera::onnx
