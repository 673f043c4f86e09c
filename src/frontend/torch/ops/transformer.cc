// Whole layers that PyTorch takes for one operator when no gradients are asked for: multi-head attention and encoder layers.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/torch/importer.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// What another operator gives for these arguments.
Value by_operator(const Operation& in, const char* op, Operation::Args args) {
  Node node = in.node();
  node.op = op;
  Operation own(in.importer(), node, std::move(args));
  return find_converter(op)(own).at(0);
}
Value linear(const Operation& in, const Value& x, const Value& weight, const Value& bias) {
  return by_operator(in, "aten::linear", {{"input", x}, {"weight", weight}, {"bias", bias}});
}

struct Heads {
  int64_t count = 1, width = 1;
};

/// (batch, length, heads * width) -> (batch, heads, length, width)
Expr in_heads(const Expr& x, const Heads& heads) {
  return transpose(reshape(x, int_array({0, 0, heads.count, heads.width})), int_array({0, 2, 1, 3}));
}

/// A mask of what is left out, as one of (batch, heads, length, length) that broadcasts: for pairs of positions, keys of each
/// sequence, or whole. Null: there is none.
Expr left_out(const Operation& in) {
  if (!in.has("mask")) return nullptr;
  Expr mask = in["mask"];
  const size_t rank = in.rank(mask);
  if (in.integer("mask_type", 2) == 1 && rank == 2) return expand_dims(mask, 1, 2);
  if (rank > 4) in.invalid("the mask has " + std::to_string(rank) + " dimensions");
  return mask;
}

/// Output and, where they are asked for, weights.
Values attended(const Operation& in, const Expr& query, const Expr& key, const Expr& value, const Heads& heads,
                const Value& weight, const Value& bias, bool needs_weights, bool averages) {
  const bool is_one = query.same_as(key) && key.same_as(value);
  const int64_t size = heads.count * heads.width;
  Expr parts[3];
  if (is_one) {
    Expr all = linear(in, Value(query), weight, bias).expr();
    for (int i = 0; i < 3; ++i) parts[i] = slice(all, 2, i * size, (i + 1) * size);
  } else {
    const Expr given[3] = {query, key, value};
    for (int i = 0; i < 3; ++i)
      parts[i] = linear(in, Value(given[i]), Value(slice(weight.expr(), 0, i * size, (i + 1) * size)),
                        bias.is_absent() ? Value() : Value(slice(bias.expr(), 0, i * size, (i + 1) * size)))
                     .expr();
  }
  for (Expr& part : parts) part = in_heads(part, heads);
  Expr mask = left_out(in), out, weights;
  if (!needs_weights) {
    Operation::Args args{{"query", Value(parts[0])}, {"key", Value(parts[1])}, {"value", Value(parts[2])}};
    if (mask.defined()) {
      const bool is_bool = in.dtype(mask).is_bool();
      args.emplace_back("attn_mask", Value(is_bool ? call_op("logical_not", {mask}) : mask));
    }
    out = by_operator(in, "aten::scaled_dot_product_attention", std::move(args)).expr();
  } else {
    const DataType dtype = in.dtype(parts[0]);
    Expr scaled = multiply(parts[0], make_scalar(1 / std::sqrt(static_cast<double>(heads.width)), dtype));
    Expr scores = matmul_like_numpy(in, scaled, transpose(parts[1], int_array({0, 1, 3, 2})));
    if (mask.defined() && in.dtype(mask).is_bool()) scores = where(mask, make_scalar(-INFINITY, dtype), scores);
    else if (mask.defined()) scores = add(scores, mask);
    weights = softmax_of(scores, -1);
    out = matmul_like_numpy(in, weights, parts[2]);
    if (averages) weights = mean(weights, int_array({1}));
  }
  out = reshape(transpose(out, int_array({0, 2, 1, 3})), int_array({0, 0, -3}));
  return {Value(out), weights.defined() ? Value(weights) : Value()};
}

Heads heads_of(const Operation& in, const char* count) {
  Heads out;
  out.count = in.integer(count);
  const int64_t size = in.integer("embed_dim");
  if (out.count < 1 || size < 1 || size % out.count) in.invalid("the heads do not divide the embedding");
  out.width = size / out.count;
  return out;
}

Values attention_layer(Operation& in) {
  if (in.rank(in["query"]) != 3) in.unsupported("attention without a batch");
  Values out =
      attended(in, in["query"], in["key"], in["value"], heads_of(in, "num_head"), in.value("qkv_weight"),
               in.value_or_absent("qkv_bias"), in.flag("need_weights", true), in.flag("average_attn_weights", true));
  out[0] = linear(in, out[0], in.value("proj_weight"), in.value_or_absent("proj_bias"));
  return out;
}

Values encoder_layer(Operation& in) {
  Expr x = in["src"];
  if (in.rank(x) != 3) in.unsupported("an encoder layer without a batch");
  auto norm = [&](const Expr& from, const char* weight, const char* bias) {
    return by_operator(in, "aten::layer_norm",
                       {{"input", Value(from)},
                        {"normalized_shape", Value::of(Values{Value::of(in.integer("embed_dim"))})},
                        {"weight", in.value(weight)},
                        {"bias", in.value(bias)},
                        {"eps", in.value("eps")}})
        .expr();
  };
  auto attention = [&](const Expr& from) {
    Values out = attended(in, from, from, from, heads_of(in, "num_heads"), in.value("qkv_weight"),
                          in.value_or_absent("qkv_bias"), false, false);
    return linear(in, out[0], in.value("proj_weight"), in.value_or_absent("proj_bias")).expr();
  };
  auto feed_forward = [&](const Expr& from) {
    Value inner = linear(in, Value(from), in.value("ffn_weight_1"), in.value("ffn_bias_1"));
    inner = by_operator(in, in.flag("use_gelu", false) ? "aten::gelu" : "aten::relu", {{"self", inner}});
    return linear(in, inner, in.value("ffn_weight_2"), in.value("ffn_bias_2")).expr();
  };
  if (in.flag("norm_first", false)) {
    x = add(x, attention(norm(x, "norm_weight_1", "norm_bias_1")));
    return {add(x, feed_forward(norm(x, "norm_weight_2", "norm_bias_2")))};
  }
  x = norm(add(x, attention(x)), "norm_weight_1", "norm_bias_1");
  return {norm(add(x, feed_forward(x)), "norm_weight_2", "norm_bias_2")};
}

}  // namespace

Rows transformer_rows() {
  return {
      {"aten::_native_multi_head_attention", attention_layer},
      {"aten::_transformer_encoder_layer_fwd", encoder_layer},
  };
}

}  // namespace tessera::torch
