// Attention.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// (.., length, size) as (batch, heads, length, size).
Expr four_dims(const Operation& in, const Expr& x) {
  const size_t rank = in.rank(x);
  if (rank == 4) return x;
  if (rank < 4) return expand_dims(x, 0, static_cast<int>(4 - rank));
  in.unsupported("attention over tensors of " + std::to_string(rank) + " dimensions");
}

Expr attention_by(Operation& in, const Expr& mask, bool is_causal) {
  const size_t rank = in.rank(in[0]);
  std::vector<Expr> inputs{four_dims(in, in[0]), four_dims(in, in[1]), four_dims(in, in[2])};
  if (mask.defined()) inputs.push_back(in.rank(mask) < 2 ? expand_dims(mask, 0) : mask);
  std::vector<onnx::Given> attributes{{"is_causal", is_causal}};
  if (in.has("scale")) attributes.emplace_back("scale", in.number("scale"));
  Expr out = onnx::apply(in, "Attention", inputs, attributes);
  for (size_t i = rank; i < 4; ++i) out = squeeze(out, int_array({0}));
  return out;
}

Values scaled_dot_product(Operation& in) {
  return {attention_by(in, in.get_or("attn_mask", Expr()), in.flag("is_causal", false))};
}
/// Forms that are chosen for a device; what they give beside the result serves training.
Values attention_on_device(Operation& in) {
  Expr mask = in.get_or("attn_mask", in.get_or("attn_bias", Expr()));
  return {attention_by(in, mask, in.flag("is_causal", false)), Value(), Value(), Value(), Value()};
}

}  // namespace

Rows attention_rows() {
  return {
      {"aten::_scaled_dot_product_efficient_attention", attention_on_device},
      {"aten::_scaled_dot_product_flash_attention", attention_on_device},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", attention_on_device},
      {"aten::scaled_dot_product_attention", scaled_dot_product},
  };
}

}  // namespace tessera::torch
