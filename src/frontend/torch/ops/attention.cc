// Attention.

#include <cmath>

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
/// log(sum(exp(scores))) of each row, which gradients need; a program that does not use it does not compute it.
Value log_sum_of_scores(Operation& in, const Expr& mask) {
  const size_t rank = in.rank(in[0]);
  std::optional<std::vector<int64_t>> query = in.fixed_shape(in[0]), key = in.fixed_shape(in[1]);
  const bool is_causal = in.flag("is_causal", false);
  if (rank != 4 || (is_causal && !(query && key)) || in.dtype(in[0]) != DataType::Float(32)) return {};
  auto* width = in.shape(in[0])[3].as<IntImm>();
  if (!width) return {};
  Expr turned = onnx::apply(in, "Transpose", {in[1]}, {{"perm", Ints{0, 1, 3, 2}}});
  const double scale = in.has("scale") ? in.number("scale") : 1 / std::sqrt(static_cast<double>(width->value));
  Expr scores = multiply(onnx::apply(in, "MatMul", {in[0], turned}), make_scalar(scale, in.dtype(in[0])));
  if (mask.defined()) scores = add(scores, mask);
  if (is_causal) {
    Expr below =
        onnx::apply(in, "Trilu", {filled(1, {(*query)[2], (*key)[2]}, DataType::Float(32))}, {{"upper", false}});
    scores = where(cast(below, DataType::Bool()), scores, make_scalar(-INFINITY, in.dtype(scores)));
  }
  return Value(onnx::apply(in, "ReduceLogSumExp", {scores, make_ints({3})}, {{"keepdims", false}}));
}

/// Forms that are chosen for a device. That for CPUs gives what its gradient needs, too.
Values attention_on_device(Operation& in) {
  Expr mask = in.get_or("attn_mask", in.get_or("attn_bias", Expr()));
  Value out = attention_by(in, mask, in.flag("is_causal", false));
  if (in.name() != "_scaled_dot_product_flash_attention_for_cpu") return {out, Value(), Value(), Value(), Value()};
  return {out, log_sum_of_scores(in, mask)};
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
