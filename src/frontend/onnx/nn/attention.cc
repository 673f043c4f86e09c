// Attention and the parts of transformers around it.

#include "frontend/common/heads.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <cmath>

namespace tessera::onnx {

using namespace relay;  // NOLINT: makers of calls

namespace {

Expr as_int64(Operation& in, Expr x) { return cast_if_needed(in, x, DataType::Int(64)); }

/// What is added to scores before the softmax; empty: nothing. Inputs: query, key, value, mask, past key, past value,
/// and how many keys of each row of the batch are real.
class Bias {
 public:
  Bias(Operation& in, Expr query, Expr key) : in_(in), dtype_(in.dtype(query)), query_(query), key_(key) {}

  void add_mask(Expr mask) {
    size_t rank = in_.rank(mask);
    if (in_.dtype(mask) == DataType::Bool()) mask = where(mask, number(0), number(kNever));
    std::optional<std::vector<int64_t>> shape = in_.fixed_shape(mask), keys = in_.fixed_shape(key_);
    if (shape && keys && rank > 0 && shape->back() < (*keys)[2] && !(shape->back() == 1 && in_.version() < 24)) {
      std::vector<int64_t> before(rank, 0), after(rank, 0);
      after.back() = (*keys)[2] - shape->back();
      mask = pad_with(mask, before, after, kNever);
    }
    add_part(cast_if_needed(in_, mask, dtype_));
  }

  /// A query at position i sees keys up to i + `right` and from i - `left` on, where those are not negative.
  void add_window(std::optional<int64_t> left, std::optional<int64_t> right, const Expr& offset) {
    Expr position = add(counting(in_, query_, 2), offset), key = counting(in_, key_, 3), allowed;
    auto require = [&](Expr fact) { allowed = allowed.defined() ? call_op("logical_and", {allowed, fact}) : fact; };
    if (right) require(call_op("less_equal", {key, add(position, make_ints({*right}))}));
    if (left) require(call_op("less_equal", {subtract(position, make_ints({*left})), key}));
    add_part(where(allowed, number(0), number(kNever)));
  }

  /// Only the first keys of each row are real.
  void add_lengths(Expr lengths) {
    Expr real = less(counting(in_, key_, 3), reshape(as_int64(in_, lengths), int_array({-1, 1, 1, 1})));
    add_part(where(real, number(0), number(kNever)));
  }

  const Expr& get() const { return bias_; }
  Expr number(double value) const { return make_scalar(value, dtype_); }

 private:
  void add_part(const Expr& part) { bias_ = bias_.defined() ? add(bias_, part) : part; }

  Operation& in_;
  DataType dtype_;
  Expr query_, key_, bias_;
};

std::optional<int64_t> if_not_negative(int64_t value) {
  return value >= 0 ? std::optional<int64_t>(value) : std::nullopt;
}

Values attention(Operation& in) {
  bool is_flat = in.rank(in[0]) == 3;
  Expr query = in[0], key = in[1], value = in[2];
  if (is_flat) {
    int64_t queries = in.integer("q_num_heads"), keys = in.integer("kv_num_heads");
    query = split_heads(query, queries);
    key = split_heads(key, keys);
    value = split_heads(value, keys);
  }
  for (const Expr& part : {query, key, value})
    if (in.rank(part) != 4) in.invalid("query, key and value have three dimensions, or four");
  if (in.has(4) != in.has(5)) in.invalid("past_key and past_value come together");
  Expr offset = make_ints({0});
  if (in.has(4)) {
    offset = reshape(extent_at_run_time(in, in[4], 2), int_array({1}));
    key = concatenate({in[4], key}, 2);
    value = concatenate({in[5], value}, 2);
  } else if (in.has(6)) {
    offset = subtract(reshape(as_int64(in, in[6]), int_array({-1, 1, 1, 1})), extent_at_run_time(in, query, 2));
  }
  Expr present_key = key, present_value = value;
  DataType dtype = in.dtype(query);
  Bias bias(in, query, key);
  if (in.has(3)) bias.add_mask(in[3]);
  if (in.integer("is_causal", 0) != 0) bias.add_window(std::nullopt, 0, offset);
  auto left = if_not_negative(in.integer("left_window_size", -1));
  auto right = if_not_negative(in.integer("right_window_size", -1));
  if (left || right) bias.add_window(left, right, offset);
  if (in.has(6)) bias.add_lengths(in[6]);

  std::vector<int64_t> own;
  for (const Expr& part : {query, key}) {
    auto* heads = in.shape(part)[1].as<IntImm>();
    if (!heads) in.unsupported("the number of heads must be fixed");
    own.push_back(heads->value);
  }
  if (own[1] <= 0) in.invalid("there are no heads of keys");
  if (own[0] != own[1] && own[0] % own[1] == 0) {
    key = repeat(key, static_cast<int>(own[0] / own[1]), 1);
    value = repeat(value, static_cast<int>(own[0] / own[1]), 1);
  }
  double scale = in.number("scale", 0);
  if (!in.has_attribute("scale")) {
    auto* size = in.shape(query)[3].as<IntImm>();
    if (!size) in.unsupported("the size of heads must be fixed");
    scale = 1 / std::sqrt(static_cast<double>(size->value));
  }
  Expr factor = make_scalar(std::sqrt(scale), dtype);
  Expr scores = matmul_like_numpy(in, multiply(query, factor), multiply(transposed_matrices(key), factor));
  double cap = in.number("softcap", 0);
  Expr shown = scores;
  if (cap > 0) shown = scores = multiply(tanh(divide(scores, bias.number(cap))), bias.number(cap));
  if (bias.get().defined()) scores = add(scores, bias.get());
  int64_t mode = in.integer("qk_matmul_output_mode", 0);
  if (mode == 2) shown = scores;
  if (in.has_attribute("softmax_precision"))
    scores = cast_if_needed(in, scores, element_type(static_cast<ElementType>(in.integer("softmax_precision"))));
  Expr weights = softmax_of(scores, -1);
  if (bias.get().defined()) {  // a query that sees nothing takes nothing
    Expr sees = reduce("any", greater(bias.get(), bias.number(kNever)), {PrimExpr(-1)}, true);
    weights = where(sees, weights, make_scalar(0, in.dtype(weights)));
  }
  weights = cast_if_needed(in, weights, dtype);
  if (mode == 3) shown = weights;
  Expr out = matmul_like_numpy(in, weights, value);
  return {is_flat ? merge_heads(out) : out, present_key, present_value, shown};
}

/// Attention whose scores and weights graphs of the node change.
Values flex_attention(Operation& in) {
  Expr query = in[0], key = in[1], value = in[2];
  Ints shape = in.static_shape(query, "FlexAttention"), keys = in.static_shape(key, "FlexAttention");
  if (shape.size() != 4 || keys.size() != 4) in.invalid("the inputs must have four dimensions");
  if (shape[1] != keys[1]) {
    if (keys[1] < 1 || shape[1] % keys[1]) in.invalid("the heads of queries must be a multiple of those of keys");
    key = repeat(key, static_cast<int>(shape[1] / keys[1]), 1);
    value = repeat(value, static_cast<int>(shape[1] / keys[1]), 1);
  }
  DataType dtype = in.dtype(query), work = dtype.bits < 32 ? DataType::Float(32) : dtype;
  if (in.has_attribute("softmax_precision"))
    work = element_type(static_cast<ElementType>(in.integer("softmax_precision")));
  double scale = in.number("scale", 1 / std::sqrt(static_cast<double>(shape[3])));
  Expr factor = make_scalar(std::sqrt(scale), dtype);
  Expr scores = matmul_like_numpy(in, multiply(query, factor), transposed_matrices(multiply(key, factor)));
  scores = cast_if_needed(in, scores, work);
  auto changed = [&](const char* name, const Expr& x) {
    if (!in.has_attribute(name)) return x;
    Values out = in.import(in.graph(name), {Value(x)});
    return cast_if_needed(in, out.at(0).tensor, work);
  };
  Expr weights = changed("prob_mod", softmax_of(changed("score_mod", scores), -1));
  Expr out = matmul_like_numpy(in, weights, cast_if_needed(in, value, work));
  return {cast_if_needed(in, out, in.dtype(in[2]))};
}

/// One input, gated by itself, times the other.
Values swiglu(Operation& in) {
  double alpha = in.number("alpha", 1);
  Expr scaled = alpha == 1 ? in[0] : multiply(in[0], make_scalar(alpha, in.dtype(in[0])));
  return {multiply(multiply(in[0], sigmoid(scaled)), in[1])};
}

// ---- rotary embedding -----------------------------------------------------------------------------------------------

Values rotary_embedding(Operation& in) {
  bool is_flat = in.rank(in[0]) == 3;
  Expr x = is_flat ? split_heads(in[0], in.integer("num_heads")) : in[0];
  auto cached = [&](size_t i) { return expand_dims(in.has(3) ? checked_take(in, in[i], in[3], 0) : in[i], 1); };
  Expr out =
      rotated(in, x, cached(1), cached(2), in.integer("rotary_embedding_dim", 0), in.integer("interleaved", 0) != 0);
  return {is_flat ? merge_heads(out) : out};
}

// ---- linear attention -----------------------------------------------------------------------------------------------

/// A state (batch, heads, key, value) that each step fades, corrects, writes and reads.
Values linear_attention(Operation& in) {
  std::string rule = in.text("update_rule", "gated_delta");
  bool fades = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!fades && !corrects && rule != "linear") in.invalid("update_rule is linear, gated, delta or gated_delta");
  if (fades != in.has(4) || corrects != in.has(5)) in.invalid("decay and beta do not fit the update rule " + rule);
  int64_t queries = in.integer("q_num_heads"), keys = in.integer("kv_num_heads");
  if (keys < 1 || queries < 1 || queries % keys) in.invalid("q_num_heads must be a multiple of kv_num_heads");
  Ints shape = in.static_shape(in[0], "LinearAttention");
  Ints value_shape = in.static_shape(in[2], "LinearAttention");
  int64_t batch = shape[0], length = shape[1], key_size = shape[2] / queries, value_size = value_shape[2] / keys;
  DataType wide = DataType::Float(32), dtype = in.dtype(in[0]);
  auto heads = [&](size_t i, int64_t count) { return split_heads(cast_if_needed(in, in[i], wide), count); };
  Expr query = heads(0, queries), key = heads(1, keys), value = heads(2, keys), decay, beta;
  if (fades) decay = heads(4, keys);
  if (corrects) beta = heads(5, in.static_shape(in[5], "LinearAttention")[2] == keys ? keys : 1);
  Expr state = in.has(3) ? cast_if_needed(in, in[3], wide) : filled(0, {batch, keys, key_size, value_size}, wide);
  double scale = in.number("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(key_size));
  constexpr int64_t kMaxSteps = 10'000;  // each is written out
  if (length > kMaxSteps) in.unsupported("more than " + std::to_string(kMaxSteps) + " steps");
  Array<Expr> outputs;
  for (int64_t i = 0; i < length; ++i) {
    auto step = [&](const Expr& x) { return slice(x, 2, i, i + 1); };  // (batch, heads, 1, size)
    Expr key_column = transposed_matrices(step(key)), row = step(value);
    if (fades) state = multiply(state, transposed_matrices(exp(step(decay))));
    if (corrects) {
      Expr known = sum(multiply(state, key_column), {PrimExpr(2)}, true);
      row = multiply(step(beta), subtract(row, known));
    }
    state = add(state, multiply(key_column, row));
    Expr read = queries == keys ? state : repeat(state, static_cast<int>(queries / keys), 1);
    Expr seen = sum(multiply(read, transposed_matrices(step(query))), {PrimExpr(2)}, true);
    outputs.push_back(multiply(seen, make_scalar(scale, wide)));
  }
  Expr out = merge_heads(outputs.size() == 1 ? outputs[0] : concatenate(outputs, 2));
  return {cast_if_needed(in, out, dtype), cast_if_needed(in, state, in.has(3) ? in.dtype(in[3]) : dtype)};
}

}  // namespace

Rows attention_rows() {
  return {
      {"Attention", 23, attention},
      {"FlexAttention", 1, flex_attention, "ai.onnx.preview"},
      {"LinearAttention", 1, linear_attention},
      {"RotaryEmbedding", 23, rotary_embedding},
      {"SwiGLU", 1, swiglu},
  };
}

}  // namespace tessera::onnx
