// Attention of several heads, and parts of tensors by index.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/keras/keras.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::keras {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// (batch, length, size) times a kernel (size, heads, width), as (batch, heads, length, width).
Expr in_heads(const KerasLayer& in, const Expr& x, size_t weight, bool has_bias) {
  const Expr kernel = in.weight(weight);
  const Ints shape = in.static_shape(kernel, "attention");
  if (shape.size() != 3) in.invalid("a kernel of attention has three dimensions");
  Expr out = matmul_like_numpy(in, x, reshape_to(kernel, {shape[0], shape[1] * shape[2]}));
  if (has_bias) out = add(out, reshape_to(in.weight(weight + 1), {shape[1] * shape[2]}));
  return transpose(reshape(out, int_array({0, 0, shape[1], shape[2]})), int_array({0, 2, 1, 3}));
}

/// Inputs: query, value and, where they are not the values, keys.
Exprs multi_head_attention(KerasLayer& in) {
  const Fields call = in.fields().object("call"), named = call.object("kwargs");
  for (const char* name : {"attention_mask", "query_mask", "value_mask", "key_mask", "return_attention_scores"})
    if (named.has(name)) in.unsupported(std::string("the argument ") + name);
  if (in.flag("use_gate") || in.fields().has("sliding_window")) in.unsupported("gates and sliding windows");
  if (in.size() < 2 || in.size() > 3 || call.list("args").size() > 3) in.unsupported("other than two or three inputs");
  for (size_t i = 0; i < in.size(); ++i)
    if (in.rank(in[i]) != 3) in.unsupported("attention over other than one axis");
  const bool has_bias = in.flag("use_bias", true);
  const size_t each = has_bias ? 2 : 1;
  Expr query = in_heads(in, in[0], 0, has_bias), key = in_heads(in, in[in.size() - 1], each, has_bias),
       value = in_heads(in, in[1], 2 * each, has_bias);
  Expr out = onnx::apply(in, "Attention", {query, key, value}, {{"is_causal", named.flag("use_causal_mask", false)}});
  out = reshape(transpose(out, int_array({0, 2, 1, 3})), int_array({0, 0, -3}));
  const Expr kernel = in.weight(3 * each);
  const Ints shape = in.static_shape(kernel, "attention");
  if (shape.size() != 3) in.unsupported("an output of several axes");
  out = matmul_like_numpy(in, out, reshape_to(kernel, {shape[0] * shape[1], shape[2]}));
  return {has_bias ? add(out, in.weight(3 * each + 1)) : out};
}

/// x[i, a:b]: numbers take an element of an axis, slices a part.
Exprs item(KerasLayer& in) {
  const std::vector<ObjectRef> arguments = in.fields().object("call").list("args");
  if (in.size() != 1 || arguments.size() != 2) in.unsupported("an index that is a tensor");
  std::vector<ObjectRef> keys{arguments[1]};
  if (arguments[1].as<ArrayNode>()) keys = list_of(arguments[1], "an index");
  Expr x = in[0];
  int axis = 0;
  for (const ObjectRef& key : keys) {
    if (static_cast<size_t>(axis) >= in.rank(x)) in.invalid("more indices than dimensions");
    if (!key.defined()) in.unsupported("an index None");
    if (!key.as<MapNode>()) {
      const int64_t at = integer_of(key, "an index"), extent = in.static_extent(x, axis, "an index");
      if (at < -extent || at >= extent)
        in.invalid("index " + std::to_string(at) + " of an axis of extent " + std::to_string(extent));
      const int64_t from = at < 0 ? at + extent : at;
      x = squeeze(slice(x, axis, from, from + 1), int_array({axis}));
      continue;
    }
    Fields own(key, "an index");
    if (own.text("class_name") != "__slice__") in.unsupported("an index that is a " + own.text("class_name"));
    const Fields bounds = own.object("config");
    const int64_t step = bounds.integer("step", 1);
    if (step < 1) in.unsupported("a slice in steps of " + std::to_string(step));
    if (bounds.has("start") || bounds.has("stop") || step > 1)
      x = slice(x, axis, bounds.integer("start", 0), bounds.integer("stop", INT32_MAX), step);
    ++axis;
  }
  return {x};
}

}  // namespace

KerasRows attention_rows() {
  return {
      {"MultiHeadAttention", multi_head_attention},
      {"ops.GetItem", item},
  };
}

}  // namespace tessera::keras
