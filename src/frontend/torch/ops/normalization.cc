// Normalisation.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr constant_like(const Operation& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

/// (channels) broadcast to the second of `rank` dimensions.
Expr by_channel(const Expr& x, size_t rank) { return rank > 2 ? expand_dims(x, 1, static_cast<int>(rank) - 2) : x; }

std::vector<int64_t> all_axes_but_channel(size_t rank, bool with_batch) {
  std::vector<int64_t> out;
  if (with_batch) out.push_back(0);
  for (size_t i = 2; i < rank; ++i) out.push_back(static_cast<int64_t>(i));
  return out;
}

Expr channels_filled(const Operation& in, const Expr& x, double value) {
  auto* channels = in.shape(x)[1].as<IntImm>();
  if (!channels) in.unknown("the number of channels must be known", x);
  return filled(value, {channels->value}, in.dtype(x));
}

struct OwnStatistics {
  Expr centred, mean, variance;  // the last two with dimensions of one element
};

OwnStatistics own_statistics(const Operation& in, const Expr& x, bool with_batch) {
  Array<PrimExpr> axes = int_array(all_axes_but_channel(in.rank(x), with_batch));
  Expr middle = mean(x, axes, true), centred = subtract(x, middle);
  return {centred, middle, mean(multiply(centred, centred), axes, true)};
}

/// With the statistics of the data itself.
Expr normalized_by_own(const Operation& in, const OwnStatistics& own, double epsilon) {
  const Expr& x = own.centred;
  const size_t rank = in.rank(x);
  Expr out = divide(x, sqrt(add(own.variance, constant_like(in, x, epsilon))));
  if (in.has("weight")) out = multiply(out, by_channel(in["weight"], rank));
  if (in.has("bias")) out = add(out, by_channel(in["bias"], rank));
  return out;
}

/// What a step of training gives: the result, mean and 1 / deviation, and the running statistics after it.
Values batch_norm_step(Operation& in, double epsilon) {
  Expr x = in[0];
  OwnStatistics own = own_statistics(in, x, true);
  Values out{normalized_by_own(in, own, epsilon)};
  auto by_channels = [](const Expr& statistic) { return reshape(statistic, int_array({-1})); };
  Expr middle = by_channels(own.mean), variance = by_channels(own.variance);
  out.push_back(Value(middle));
  out.push_back(Value(rsqrt(add(variance, constant_like(in, x, epsilon)))));
  if (in.name() != "_native_batch_norm_legit_functional") return out;
  const double momentum = in.number("momentum", 0.1);
  auto moved = [&](const char* name, const Expr& towards) {
    return add(multiply(in[name], constant_like(in, towards, 1 - momentum)),
               multiply(towards, constant_like(in, towards, momentum)));
  };
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(x);
  if (!shape) in.unknown("a step of training needs the number of elements", x);
  const double count = static_cast<double>(product_of(*shape)) / static_cast<double>(std::max<int64_t>(1, (*shape)[1]));
  Expr unbiased = multiply(variance, constant_like(in, x, count / std::max(1.0, count - 1)));
  out.push_back(Value(moved("running_mean", middle)));
  out.push_back(Value(moved("running_var", unbiased)));
  return out;
}

Values batch_norm_of(Operation& in) {
  Expr x = in[0];
  const double epsilon = in.number("eps", 1e-5);
  if (in.rank(x) < 2) in.invalid("the data has no channels");
  if (in.flag("training", in.flag("train", false)) || !in.has("running_mean")) {
    Values step = batch_norm_step(in, epsilon);
    return in.name() == "batch_norm" ? Values{step[0]} : step;
  }
  DataType dtype = in.dtype(x);
  auto param = [&](const char* name, double otherwise) {
    return in.has(name) ? cast_if_needed(in, in[name], dtype) : channels_filled(in, x, otherwise);
  };
  Expr gamma = param("weight", 1), beta = param("bias", 0);
  Expr out = call_op("nn.batch_norm", {x, gamma, beta, param("running_mean", 0), param("running_var", 1)},
                     make_attrs<BatchNormAttrs>([&](auto& attrs) {
                       attrs.axis = 1;
                       attrs.epsilon = epsilon;
                     }));
  if (in.name() == "batch_norm") return {make_get_item(out, 0)};
  Values results{Value(make_get_item(out, 0))};
  for (int i = 0; i < 2; ++i) results.push_back(Value(filled(0, {0}, dtype)));  // what a step of training would give
  return results;
}

Values instance_norm_of(Operation& in) {
  if (!in.flag("use_input_stats", true) && in.has("running_mean")) return {batch_norm_of(in)[0]};
  return {normalized_by_own(in, own_statistics(in, in[0], false), in.number("eps", 1e-5))};
}

Values layer_norm_of(Operation& in) {
  Expr x = in[0];
  Ints shape = in.integers("normalized_shape");
  const size_t rank = in.rank(x);
  if (shape.empty() || shape.size() > rank) in.invalid("normalized_shape does not fit the data");
  DataType dtype = in.dtype(x);
  const double epsilon = in.number("eps", 1e-5);
  Expr one = shape.size() == 1 ? filled(1, {shape[0]}, dtype) : Expr();
  if (shape.size() == 1 && dtype.bits >= 32 && in.node().op == "aten::layer_norm") {
    Expr zero = filled(0, {shape[0]}, dtype);
    return {call_op("nn.layer_norm", {x, in.get_or("weight", one), in.get_or("bias", zero)},
                    make_attrs<LayerNormAttrs>([&](auto& attrs) {
                      attrs.axis = -1;
                      attrs.epsilon = epsilon;
                    }))};
  }
  Expr scale = in.get_or("weight", make_scalar(1, dtype));
  std::vector<Expr> inputs{x, scale};
  if (in.has("bias")) inputs.push_back(in["bias"]);
  std::vector<Expr> out = onnx::apply_all(
      in, "LayerNormalization", inputs, {{"axis", static_cast<int64_t>(rank - shape.size())}, {"epsilon", epsilon}}, 3);
  if (in.node().op == "aten::layer_norm") return {out[0]};
  return {out[0], out[1], out[2]};
}

Values rms_norm_of(Operation& in) {
  Expr x = in[0];
  const auto axis = static_cast<int64_t>(in.rank(x) - in.integers("normalized_shape").size());
  DataType dtype = in.dtype(x);
  const double epsilon =
      in.number("eps", dtype == DataType::Float(64) ? 2.220446049250313e-16 : 1.1920928955078125e-07);
  return {onnx::apply(in, "RMSNormalization", {x, in.get_or("weight", make_scalar(1, dtype))},
                      {{"axis", axis}, {"epsilon", epsilon}})};
}

Values group_norm_of(Operation& in) {
  Expr x = in[0], scale = in.get_or("weight", Expr()), bias = in.get_or("bias", Expr());
  if (!scale.defined()) scale = channels_filled(in, x, 1);
  if (!bias.defined()) bias = channels_filled(in, x, 0);
  const char* groups = in.has("num_groups") ? "num_groups" : "group";
  return {onnx::apply(in, "GroupNormalization", {x, scale, bias},
                      {{"num_groups", in.integer(groups)}, {"epsilon", in.number("eps", 1e-5)}})};
}

/// v * g / |v|, the norm over all axes but one, or over all of them.
Values weight_norm_of(Operation& in) {
  Expr v = in["v"], g = in["g"];
  const size_t rank = in.rank(v);
  const int64_t dim = in.integer("dim", 0);
  std::vector<int64_t> axes;
  for (size_t i = 0; i < rank; ++i)
    if (dim == -1 || static_cast<int>(i) != in.axis_of(dim, rank)) axes.push_back(static_cast<int64_t>(i));
  Expr norm = sqrt(sum(multiply(v, v), int_array(axes), true));
  Expr out = multiply(v, divide(g, norm));
  return in.name() == "_weight_norm" ? Values{out} : Values{out, norm};
}

Values local_response_norm_of(Operation& in) {
  return {onnx::apply(in, "LRN", {in[0]},
                      {{"size", in.integer("size")},
                       {"alpha", in.number("alpha", 1e-4)},
                       {"beta", in.number("beta", 0.75)},
                       {"bias", in.number("k", 1)}})};
}

}  // namespace

Rows normalization_rows() {
  return {
      {"aten::_native_batch_norm_legit", batch_norm_of},
      {"aten::_native_batch_norm_legit_functional", batch_norm_of},
      {"aten::_native_batch_norm_legit_no_training", batch_norm_of},
      {"aten::_weight_norm", weight_norm_of},
      {"aten::_weight_norm_interface", weight_norm_of},
      {"aten::batch_norm", batch_norm_of},
      {"aten::cudnn_batch_norm", batch_norm_of},
      {"aten::group_norm", group_norm_of},
      {"aten::instance_norm", instance_norm_of},
      {"aten::layer_norm", layer_norm_of},
      {"aten::local_response_norm", local_response_norm_of},
      {"aten::native_batch_norm", batch_norm_of},
      {"aten::native_group_norm", group_norm_of},
      {"aten::native_layer_norm", layer_norm_of},
      {"aten::rms_norm", rms_norm_of},
  };
}

}  // namespace tessera::torch
