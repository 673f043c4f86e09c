// Layers that look at elements, rows or shapes: linear layers, activations, norms, what moves dimensions.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/keras/keras.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::keras {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr scalar(const KerasLayer& in, const Expr& like, double value) { return make_scalar(value, in.dtype(like)); }

Expr relu_of(const KerasLayer& in, const Expr& x, double maximum, double slope, double threshold) {
  Expr out;
  if (threshold == 0) {
    out = slope == 0 ? call_op("nn.relu", {x}) : apply(in, "LeakyRelu", {x}, {{"alpha", slope}});
  } else {
    Expr limit = scalar(in, x, threshold);
    out = where(call_op("greater_equal", {x, limit}), x, multiply(scalar(in, x, slope), subtract(x, limit)));
  }
  return maximum < 0 ? out : relay::minimum(out, scalar(in, x, maximum));
}

Expr soft_max(const Expr& x, int axis) { return softmax_of(x, axis); }

Expr named_activation(const KerasLayer& in, const Expr& x, const std::string& name, const Fields& config, int axis) {
  if (name == "linear") return x;
  if (name == "softmax") return soft_max(x, axis);
  if (name == "log_softmax") return apply(in, "LogSoftmax", {x}, {{"axis", axis}});
  if (name == "sigmoid") return sigmoid(x);
  if (name == "tanh") return tanh(x);
  if (name == "exponential") return exp(x);
  if (name == "relu")
    return relu_of(in, x, config.number("max_value", -1), config.number("negative_slope", config.number("alpha", 0)),
                   config.number("threshold", 0));
  if (name == "relu6") return clip(x, 0, 6);
  if (name == "softplus") return apply(in, "Softplus", {x});
  if (name == "softsign") return apply(in, "Softsign", {x});
  if (name == "elu") return apply(in, "Elu", {x}, {{"alpha", config.number("alpha", 1)}});
  if (name == "selu") return apply(in, "Selu", {x});
  if (name == "leaky_relu") return apply(in, "LeakyRelu", {x}, {{"alpha", config.number("negative_slope", 0.2)}});
  if (name == "swish" || name == "silu") return multiply(x, sigmoid(x));
  if (name == "mish") return apply(in, "Mish", {x});
  if (name == "hard_swish" || name == "hard_silu") return apply(in, "HardSwish", {x});
  if (name == "gelu")
    return apply(in, "Gelu", {x}, {{"approximate", config.flag("approximate", false) ? "tanh" : "none"}});
  if (name == "hard_sigmoid")  // Keras 3 has another slope than 2
    return in.flag("of_keras_3") ? clip(add(multiply(x, scalar(in, x, 1.0 / 6)), scalar(in, x, 0.5)), 0, 1)
                                 : clip(add(multiply(x, scalar(in, x, 0.2)), scalar(in, x, 0.5)), 0, 1);
  in.unsupported("the activation " + name);
}

/// "ReLU6" and "re_lu6" as "relu6".
std::string activation_name(std::string text) {
  std::string out;
  for (char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::pair<const char*, const char*> others[] = {{"leakyrelu", "leaky_relu"}, {"hardsigmoid", "hard_sigmoid"}};
  for (const auto& [other, name] : others)
    if (out == other) return name;
  return out;
}

Exprs activation(KerasLayer& in) { return {activated(in, in[0], "activation", in.memory_axis(-1, in.rank(in[0])))}; }

Exprs softmax_layer(KerasLayer& in) {
  Ints axes = in.fields().integers("axis", {-1});
  if (axes.size() == 1) return {soft_max(in[0], in.memory_axis(axes[0], in.rank(in[0])))};
  std::vector<int64_t> all;
  for (int64_t axis : axes) all.push_back(in.memory_axis(axis, in.rank(in[0])));
  Expr powers = exp(subtract(in[0], reduce("max", in[0], int_array(all), true)));
  return {divide(powers, sum(powers, int_array(all), true))};
}

Exprs relu_layer(KerasLayer& in) {
  return {relu_of(in, in[0], in.number("max_value", -1), in.number("negative_slope", 0), in.number("threshold", 0))};
}
Exprs leaky_relu(KerasLayer& in) {
  return {apply(in, "LeakyRelu", {in[0]}, {{"alpha", in.number("negative_slope", in.number("alpha", 0.3))}})};
}
Exprs elu(KerasLayer& in) { return {apply(in, "Elu", {in[0]}, {{"alpha", in.number("alpha", 1)}})}; }
Exprs thresholded_relu(KerasLayer& in) {
  return {apply(in, "ThresholdedRelu", {in[0]}, {{"alpha", in.number("theta", 1)}})};
}

Exprs prelu(KerasLayer& in) {
  const Expr &x = in[0], alpha = in.weight(0);  // broadcasts against the data without its batch
  Expr zero = scalar(in, x, 0);
  return {add(maximum(x, zero), multiply(alpha, minimum(x, zero)))};
}

Exprs identity(KerasLayer& in) { return {in[0]}; }

Exprs dense(KerasLayer& in) {
  Expr out = matmul_like_numpy(in, in[0], in.weight(0));
  if (in.flag("use_bias", true)) out = add(out, in.weight(1));
  return {activated(in, out, "activation", static_cast<int>(in.rank(out)) - 1)};
}

Exprs flatten(KerasLayer& in) {
  if (in.rank(in[0]) < 2) return {expand_dims(in[0], 1)};
  Expr x = in[0];
  if (!in.keeps_channels_last() && in.rank(x) > 2) {  // Keras flattens in the order of channels last
    std::vector<int64_t> axes{0};
    for (size_t i = 2; i < in.rank(x); ++i) axes.push_back(static_cast<int64_t>(i));
    axes.push_back(1);
    x = transpose(x, int_array(axes));
  }
  return {call_op("nn.batch_flatten", {x})};
}

/// Another shape of each element of the batch.
Expr reshaped_elements(const KerasLayer& in, const Expr& x, Ints target) {
  int64_t known = 1, unknown = 0;
  for (int64_t extent : target) extent < 0 ? void(++unknown) : void(known *= std::max<int64_t>(extent, 1));
  if (unknown > 1) in.invalid("several extents of the new shape are unknown");
  if (unknown) {
    Ints shape = in.static_shape(x, "a new shape with an unknown extent");
    int64_t all = 1;
    for (size_t i = 1; i < shape.size(); ++i) all *= shape[i];
    for (int64_t& extent : target)
      if (extent < 0) extent = all / known;
  }
  const int64_t* batch = as_int(in.shape(x)[0]);
  target.insert(target.begin(), batch ? *batch : -1);
  return reshape_to(x, target);
}

Exprs reshape_layer(KerasLayer& in) { return {reshaped_elements(in, in[0], in.fields().integers("target_shape"))}; }

Exprs permute(KerasLayer& in) {
  Ints dims = in.fields().integers("dims");
  std::vector<int64_t> axes{0};
  for (int64_t dim : dims) axes.push_back(dim);
  if (axes.size() != in.rank(in[0])) in.invalid("it permutes " + std::to_string(dims.size()) + " dimensions");
  return {transpose(in[0], int_array(axes))};
}

Exprs repeat_vector(KerasLayer& in) { return {repeat(expand_dims(in[0], 1), static_cast<int>(in.integer("n")), 1)}; }

Exprs embedding(KerasLayer& in) {
  if (in.flag("mask_zero")) in.unsupported("mask_zero, which hides positions from later layers");
  return {take(in.weight(0), cast_if_needed(in, in[0], DataType::Int(32)), 0)};
}

Exprs batch_norm(KerasLayer& in) {
  Ints axes = in.fields().integers("axis", {-1});
  if (axes.size() != 1) in.unsupported("a batch norm over several axes");
  const int axis = in.memory_axis(axes[0], in.rank(in[0]));
  size_t next = 0;
  const Array<PrimExpr> shape = in.shape(in[0]);
  const int64_t* count = as_int(shape[static_cast<size_t>(axis)]);
  if (!count) in.unsupported("a dynamic number of channels");
  auto filled_with = [&](double value) {
    return numbers_of(std::vector<double>(static_cast<size_t>(*count), value), {*count}, in.dtype(in[0]));
  };
  Expr gamma = in.flag("scale", true) ? in.weight(next++) : filled_with(1);
  Expr beta = in.flag("center", true) ? in.weight(next++) : filled_with(0);
  Expr mean = in.weight(next++), variance = in.weight(next++);
  Attrs attrs = make_attrs<BatchNormAttrs>([&](auto& to) {
    to.axis = axis;
    to.epsilon = in.number("epsilon", 1e-3);
  });
  return {make_get_item(call_op("nn.batch_norm", {in[0], gamma, beta, mean, variance}, attrs), 0)};
}

/// Each row by the root of its mean square.
Exprs rms_norm(KerasLayer& in) {
  const Ints axes = in.fields().integers("axis", {-1});
  const size_t rank = in.rank(in[0]);
  if (axes.size() != 1 || in.axis(axes[0], rank) != static_cast<int>(rank) - 1)
    in.unsupported("other than the last axis");
  Expr squares = mean(multiply(in[0], in[0]), int_array({-1}), true);
  return {multiply(multiply(in[0], rsqrt(add(squares, scalar(in, in[0], in.number("epsilon", 1e-6))))), in.weight(0))};
}

Exprs unit_norm(KerasLayer& in) {
  std::vector<int64_t> axes;
  for (int64_t axis : in.fields().integers("axis", {-1})) axes.push_back(in.axis(axis, in.rank(in[0])));
  Expr length = sqrt(sum(multiply(in[0], in[0]), int_array(axes), true));
  return {divide(in[0], relay::maximum(length, scalar(in, in[0], 1e-12)))};
}

/// Channels, which are last, in groups that are normed together with all positions.
Exprs group_norm(KerasLayer& in) {
  const Ints shape = in.static_shape(in[0], "a norm of groups");
  const int64_t channels = shape.back(), given = in.integer("groups", 32), groups = given == -1 ? channels : given;
  const Ints axes = in.fields().integers("axis", {-1});
  if (axes.size() != 1 || in.axis(axes[0], shape.size()) != static_cast<int>(shape.size()) - 1)
    in.unsupported("other than the last axis");
  if (groups < 1 || channels % groups) in.invalid("the channels are not divisible into groups");
  Expr x = typed(reshape_to(in[0], {shape[0], -1, groups, channels / groups}));
  Expr centered = subtract(x, mean(x, int_array({1, 3}), true));
  Expr variance = mean(multiply(centered, centered), int_array({1, 3}), true);
  Expr out = multiply(centered, rsqrt(add(variance, scalar(in, in[0], in.number("epsilon", 1e-3)))));
  out = reshape_to(out, shape);
  size_t next = 0;
  if (in.flag("scale", true)) out = multiply(out, in.weight(next++));
  if (in.flag("center", true)) out = add(out, in.weight(next++));
  return {out};
}

Exprs layer_norm(KerasLayer& in) {
  if (in.flag("rms_scaling")) in.unsupported("rms_scaling");
  Ints axes = in.fields().integers("axis", {-1});
  const size_t rank = in.rank(in[0]);
  std::vector<int64_t> where;
  for (int64_t axis : axes) where.push_back(in.axis(axis, rank));
  std::sort(where.begin(), where.end());
  for (size_t i = 0; i < where.size(); ++i)
    if (where[i] != static_cast<int64_t>(rank - where.size() + i))
      in.unsupported("a layer norm over other than the last axes");
  size_t next = 0;
  Expr centered = subtract(in[0], mean(in[0], int_array(where), true));
  Expr variance = mean(multiply(centered, centered), int_array(where), true);
  Expr out = multiply(centered, rsqrt(add(variance, scalar(in, in[0], in.number("epsilon", 1e-3)))));
  if (in.flag("scale", true)) out = multiply(out, in.weight(next++));
  if (in.flag("center", true)) out = add(out, in.weight(next++));
  return {out};
}

Exprs rescaling(KerasLayer& in) {
  Expr x = cast_if_needed(in, in[0], DataType::Float(32));
  auto number = [&](const char* name) {
    std::vector<double> values = in.fields().numbers(name, {name[0] == 's' ? 1.0 : 0.0});
    if (values.size() == 1) return make_scalar(values[0], DataType::Float(32));
    return numbers_of(values, {static_cast<int64_t>(values.size())}, DataType::Float(32));
  };
  return {add(multiply(x, number("scale")), number("offset"))};
}

Exprs normalization(KerasLayer& in) {
  Ints axes = in.fields().integers("axis", {-1});
  if (axes.size() != 1 || in.axis(axes[0], in.rank(in[0])) != static_cast<int>(in.rank(in[0])) - 1)
    in.unsupported("axes other than the last");
  if (in.flag("invert")) in.unsupported("invert");
  Expr mean, variance;
  if (in.fields().has("mean")) {
    auto number = [&](const char* name) {
      std::vector<double> values = in.fields().numbers(name);
      return numbers_of(values, {static_cast<int64_t>(values.size())}, DataType::Float(32));
    };
    mean = number("mean"), variance = number("variance");
  } else {
    mean = reshape_to(in.weight(0), {-1}), variance = reshape_to(in.weight(1), {-1});
  }
  Expr deviation = maximum(sqrt(variance), make_scalar(1e-7, DataType::Float(32)));
  return {divide(subtract(cast_if_needed(in, in[0], DataType::Float(32)), mean), deviation)};
}

Exprs layer_scale(KerasLayer& in) { return {multiply(in[0], in.weight(0))}; }

Exprs lambda(KerasLayer& in) {
  in.unsupported("a Lambda layer holds Python code, which is not run; export the model without it");
}

Exprs time_distributed(KerasLayer& in) {
  Fields layer = in.fields().object("layer"), config = layer.object("config");
  Fields inner(config.map(), config.owner());
  inner.set("of_keras_3", in.fields().get("of_keras_3"));
  const Array<PrimExpr> shape = in.shape(in[0]);
  if (shape.size() < 3) in.invalid("data without batch and steps");
  Expr flat = merged(in[0], 0, 2);
  Expr out = in.call(layer.text("class_name"), inner, in.node().weights, {flat}).at(0);
  const int64_t *batch = as_int(shape[0]), *steps = as_int(shape[1]);
  typed(out);
  std::vector<int64_t> whole{batch ? *batch : -1, steps ? *steps : -1};
  if (!batch && !steps) return {reshaped_as(out, 0, 1, in[0], 0, 2)};
  for (size_t i = 1; i < in.rank(out); ++i) {
    const int64_t* extent = as_int(in.shape(out)[i]);
    if (!extent) in.unsupported("dynamic extents inside");
    whole.push_back(*extent);
  }
  return {reshape_to(out, whole)};
}

}  // namespace

Expr activated(const KerasLayer& in, Expr value, const char* field, int axis) {
  ObjectRef given = in.fields().get(field);
  if (!given.defined()) return value;
  typed(value);
  if (given.as<StringNode>()) return named_activation(in, value, activation_name(in.text(field)), Fields(), axis);
  Fields object = in.fields().object(field), config = object.object("config");
  return named_activation(
      in, value,
      activation_name(object.text("class_name") == "function" ? object.text("config") : object.text("class_name")),
      config, axis);
}

KerasRows core_rows() {
  return {
      {"Activation", activation, Order::AsIs},
      {"ActivityRegularization", identity, Order::AsIs},
      {"AlphaDropout", identity, Order::AsIs},
      {"BatchNormalization", batch_norm, Order::AsIs},
      {"BatchNormalizationV1", batch_norm, Order::AsIs},
      {"BatchNormalizationV2", batch_norm, Order::AsIs},
      {"Dense", dense},
      {"Dropout", identity, Order::AsIs},
      {"ELU", elu, Order::AsIs},
      {"Embedding", embedding},
      {"Flatten", flatten},
      {"GaussianDropout", identity, Order::AsIs},
      {"GaussianNoise", identity, Order::AsIs},
      {"GroupNormalization", group_norm},
      {"Identity", identity, Order::AsIs},
      {"Lambda", lambda},
      {"LayerNormalization", layer_norm},
      {"LayerScale", layer_scale},
      {"LeakyReLU", leaky_relu, Order::AsIs},
      {"Normalization", normalization},
      {"PReLU", prelu},
      {"Permute", permute},
      {"RMSNormalization", rms_norm},
      {"ReLU", relu_layer, Order::AsIs},
      {"RepeatVector", repeat_vector},
      {"Rescaling", rescaling},
      {"Reshape", reshape_layer},
      {"Softmax", softmax_layer, Order::AsIs},
      {"SpatialDropout1D", identity, Order::AsIs},
      {"SpatialDropout2D", identity, Order::AsIs},
      {"SpatialDropout3D", identity, Order::AsIs},
      {"ThresholdedReLU", thresholded_relu, Order::AsIs},
      {"TimeDistributed", time_distributed},
      {"UnitNormalization", unit_norm},
  };
}

}  // namespace tessera::keras
