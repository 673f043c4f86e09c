// Fused operators of com.microsoft on floats: activations, normalisations, matmuls.

#include <algorithm>
#include <cmath>

#include "frontend/common/extents.h"
#include "frontend/common/heads.h"
#include "frontend/common/packed_weights.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/fused_attention.h"
#include "frontend/onnx/nn/windows.h"
#include "frontend/onnx/tensor_ops/checked_indices.h"
#include "ir/prim/ops.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

// ---- activations ----------------------------------------------------------------------------------------------------

Expr gelu_of(Operation& in, const Expr& x) {
  auto number = [&](double value) { return make_scalar(value, in.dtype(x)); };
  Expr inner = call_op("erf", {multiply(x, number(std::sqrt(0.5)))});
  return multiply(multiply(number(0.5), x), add(number(1), inner));
}
Values bias_gelu(Operation& in) { return {gelu_of(in, add(in[0], in[1]))}; }

Values fast_gelu(Operation& in) {
  Expr x = in.has(1) ? add(in[0], in[1]) : in[0];
  auto number = [&](double value) { return make_scalar(value, in.dtype(in[0])); };
  Expr cube = multiply(x, multiply(x, x));
  Expr inner = multiply(number(std::sqrt(2 / M_PI)), add(x, multiply(number(0.044715), cube)));
  return {multiply(multiply(number(0.5), x), add(number(1), tanh(inner)))};
}

Values quick_gelu(Operation& in) {
  return {multiply(in[0], sigmoid(multiply(in[0], make_scalar(in.number("alpha", 1.702), in.dtype(in[0])))))};
}

Values bias_add(Operation& in) { return {add(add(in[0], in[1]), in[2])}; }

/// The activation behind a convolution or a matmul, with up to two numbers.
Expr activated(Operation& in, const Expr& x, const std::string& name, double alpha, double beta) {
  auto number = [&](double value) { return make_scalar(value, in.dtype(x)); };
  if (name.empty()) return x;
  if (name == "Relu") return call_op("nn.relu", {x});
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Tanh") return tanh(x);
  if (name == "LeakyRelu")
    return call_op("nn.leaky_relu", {x}, make_attrs<LeakyReluAttrs>([&](auto& attrs) { attrs.alpha = alpha; }));
  if (name == "Clip") return clip(x, alpha, beta);
  if (name == "HardSigmoid") return clip(add(multiply(x, number(alpha)), number(beta)), 0, 1);
  in.unsupported("the activation " + name);
}

/// Inputs: data, filters, bias, what is added before the activation.
Values fused_conv(Operation& in) {
  Expr out = convolution(in, in[0], in[1]);
  if (in.has(2)) out = add(out, expand_dims(in[2], 1, static_cast<int>(in.rank(in[0])) - 2));
  if (in.has(3)) out = add(out, in[3]);
  std::vector<float> numbers = in.numbers("activation_params");
  numbers.resize(2);
  return {activated(in, out, in.text("activation", ""), numbers[0], numbers[1])};
}

Values fused_gemm(Operation& in) {
  DataType dtype = in.dtype(in[0]);
  Expr out = call_op("nn.matmul", {in[0], in[1]}, make_attrs<MatmulAttrs>([&](auto& attrs) {
                       attrs.transpose_a = in.integer("transA", 0) != 0;
                       attrs.transpose_b = in.integer("transB", 0) != 0;
                     }));
  out = multiply(out, make_scalar(in.number("alpha", 1), dtype));
  if (in.has(2)) out = add(out, multiply(in[2], make_scalar(in.number("beta", 1), dtype)));
  return {
      activated(in, out, in.text("activation", ""), in.number("activation_alpha", 0), in.number("activation_beta", 0))};
}

// ---- normalisations -------------------------------------------------------------------------------------------------

Expr layer_norm(Expr x, Expr gamma, Expr beta, double epsilon) {
  return call_op("nn.layer_norm", {x, gamma, beta}, make_attrs<LayerNormAttrs>([&](auto& attrs) {
                   attrs.axis = -1;
                   attrs.epsilon = epsilon;
                 }));
}

/// Divided by the root of the mean square: the result, and what it is multiplied with.
std::pair<Expr, Expr> rms_norm(Operation& in, const Expr& x, const Expr& gamma, int64_t axis, double epsilon) {
  DataType dtype = in.dtype(x), wide = dtype.bits < 32 ? DataType::Float(32) : dtype;
  Array<PrimExpr> axes;
  for (size_t i = static_cast<size_t>(in.axis(axis, in.rank(x))); i < in.rank(x); ++i)
    axes.push_back(PrimExpr(static_cast<int>(i)));
  Expr work = cast_if_needed(in, x, wide);
  Expr factor = rsqrt(add(mean(multiply(work, work), axes, true), make_scalar(epsilon, wide)));
  return {multiply(cast_if_needed(in, multiply(work, factor), dtype), gamma), factor};
}

Values simplified_layer_normalization(Operation& in) {
  auto [out, factor] = rms_norm(in, in[0], in[1], in.integer("axis", -1), in.number("epsilon", 1e-5));
  return {out, factor};
}

Expr skip_sum(Operation& in, size_t bias) {
  Expr total = add(in[0], in[1]);
  return in.has(bias) ? add(total, in[bias]) : total;
}

Values skip_layer_normalization(Operation& in) {
  Expr total = skip_sum(in, 4), beta = in.has(3) ? in[3] : zeros_like(in[2]);
  Expr out = layer_norm(total, in[2], beta, in.number("epsilon", 1e-12));
  if (in.wants(1) || in.wants(2)) in.unsupported("the mean and the deviation as outputs");
  return {out, Value(), Value(), total};
}

Values skip_simplified_layer_normalization(Operation& in) {
  Expr total = skip_sum(in, 3);
  if (in.wants(1) || in.wants(2)) in.unsupported("the mean and the deviation as outputs");
  return {rms_norm(in, total, in[2], -1, in.number("epsilon", 1e-12)).first, Value(), Value(), total};
}

/// Inputs: words, segments, their tables (words, positions, segments), gamma, beta, mask, positions.
Values embed_layer_normalization(Operation& in) {
  Expr total = checked_take(in, in[2], in[0], 0);
  if (in.has(8)) {
    total = add(total, checked_take(in, in[3], in[8], 0));
  } else {
    const int64_t* length = as_int(in.shape(in[0])[1]);
    total =
        add(total, length ? slice(in[3], 0, 0, *length) : checked_take(in, in[3], positions_along(in, in[0], 1), 0));
  }
  if (in.has(1)) total = add(total, checked_take(in, in[4], in[1], 0));
  Expr out = layer_norm(total, in[5], in[6], in.number("epsilon", 1e-12)), lengths;
  if (in.has(7)) {
    lengths = sum(cast_if_needed(in, in[7], DataType::Int(32)), {PrimExpr(1)});
  } else {
    const int64_t* batch = as_int(in.shape(in[0])[0]);
    lengths = batch ? filled(0, {*batch}, DataType::Int(32))
                    : sum(zeros_like(cast_if_needed(in, in[0], DataType::Int(32))), {PrimExpr(1)});
  }
  return {out, lengths, total};
}

// ---- matmuls --------------------------------------------------------------------------------------------------------

/// Columns of `integers` (n, k) and of data in the order of their groups, where all groups have as many columns; false where not.
bool sort_by_group(Operation& in, const Expr& groups, int64_t k, int64_t block, Expr* integers, Expr* data) {
  std::optional<std::vector<int64_t>> given = in.constant_ints(groups);
  if (!given || given->size() != static_cast<size_t>(k) || k % block) return false;
  std::vector<std::vector<int64_t>> members(static_cast<size_t>(k / block));
  for (int64_t column = 0; column < k; ++column) {
    const int64_t group = (*given)[static_cast<size_t>(column)];
    if (group < 0 || group >= k / block) in.invalid("a group of columns that has no scale");
    members[static_cast<size_t>(group)].push_back(column);
  }
  std::vector<int64_t> order;
  for (const std::vector<int64_t>& group : members) {
    if (group.size() != static_cast<size_t>(block)) return false;
    order.insert(order.end(), group.begin(), group.end());
  }
  if (std::is_sorted(order.begin(), order.end())) return true;
  *integers = take(*integers, make_ints(order), 1);
  *data = take(*data, make_ints(order), static_cast<int>(in.rank(*data)) - 1);
  return true;
}

/// Inputs: data (..., k), weights (n, blocks, bytes), scales, zero points, the group of each column, bias.
Values matmul_n_bits(Operation& in) {
  int64_t k = in.integer("K"), n = in.integer("N"), bits = in.integer("bits", 4), block = in.integer("block_size");
  if (bits != 2 && bits != 4 && bits != 8) in.unsupported("weights of " + std::to_string(bits) + " bits");
  if (in.integer("weight_prepacked", 0) != 0) in.unsupported("weights packed for one CPU");
  constexpr int64_t kMax = INT32_MAX;
  if (block < 1 || k < 1 || n < 1 || block > kMax || k > kMax || n > kMax || block * bits % 8)
    in.invalid("the blocks do not fill bytes");
  const int64_t blocks = (k + block - 1) / block, held = (blocks * bits + 7) / 8;  // bytes of zero points of a row
  DataType dtype = in.dtype(in[0]);
  BlockedWeight weight{.n = n, .k = k, .block = block, .bits = bits};
  weight.integers =
      slice(unpacked_bits(reshape_to(in[1], {n, blocks, block * bits / 8}), bits, {n, blocks * block}), 1, 0, k);
  weight.scale = reshape_to(in[2], {n, blocks});
  if (in.has(3) && in.dtype(in[3]) == DataType::UInt(8))
    weight.zero = slice(unpacked_bits(reshape_to(in[3], {n, held}), bits, {n, held * 8 / bits}), 1, 0, blocks);
  else if (in.has(3)) weight.zero = reshape_to(in[3], {n, blocks});
  Expr data = in[0], out;
  bool is_sorted = !in.has(4) || sort_by_group(in, in[4], k, block, &weight.integers, &data);
  if (is_sorted && in[1].as<Constant>() && can_stay_packed(bits, block)) {
    out = matmul_by_packed(in, data, weight, in.integer("accuracy_level", 0) == 4);
  } else {
    auto of_columns = [&](const Expr& x) {
      Expr wide = cast_if_needed(in, x, dtype);
      if (!is_sorted) return take(wide, cast_if_needed(in, in[4], DataType::Int(32)), 1);
      return slice(repeat(wide, static_cast<int>(block), 1), 1, 0, k);
    };
    Expr zero = weight.zero.defined() ? of_columns(weight.zero) : make_scalar(weight.middle(), dtype);
    Expr wide = multiply(subtract(cast(weight.integers, dtype), zero), of_columns(weight.scale));
    out = matmul_like_numpy(in, data, transpose(wide));
  }
  return {in.has(5) ? add(out, in[5]) : out};
}

}  // namespace

Rows fused_rows() {
  Rows out{
      {"BiasAdd", 1, bias_add, kMicrosoftDomain},
      {"BiasGelu", 1, bias_gelu, kMicrosoftDomain},
      {"EmbedLayerNormalization", 1, embed_layer_normalization, kMicrosoftDomain},
      {"FastGelu", 1, fast_gelu, kMicrosoftDomain},
      {"FusedConv", 1, fused_conv, kMicrosoftDomain},
      {"FusedGemm", 1, fused_gemm, kMicrosoftDomain},
      {"MatMulNBits", 1, matmul_n_bits, kMicrosoftDomain},
      {"QuickGelu", 1, quick_gelu, kMicrosoftDomain},
      {"SimplifiedLayerNormalization", 1, simplified_layer_normalization},
      {"SimplifiedLayerNormalization", 1, simplified_layer_normalization, kMicrosoftDomain},
      {"SkipLayerNormalization", 1, skip_layer_normalization, kMicrosoftDomain},
      {"SkipSimplifiedLayerNormalization", 1, skip_simplified_layer_normalization, kMicrosoftDomain},
  };
  Rows more = fused_attention_rows();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace tessera::onnx
