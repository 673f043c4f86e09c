// Layers whose numbers speak of channels, rows and columns; activations; what is done to images first.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/coreml/coreml.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::coreml {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr weights_of(const LayerNode& in, const Fields& fields, const char* name) {
  if (!fields.has(name)) in.invalid(std::string("the weight ") + name + " is missing");
  return in.importer().param(fields.text(name));
}

int channel_axis(const LayerNode& in, const Expr& x) {
  const auto rank = static_cast<int>(in.rank(x));
  if (rank >= 3) return rank - 3;
  if (rank == 0 || in.flag(kHasExactShapes)) in.invalid("the data has fewer than three dimensions");
  return rank - 1;
}

Expr along_channels(const LayerNode& in, const Expr& numbers, const Expr& x) {
  return in.rank(x) < 3 ? numbers : typed(expand_dims(numbers, 1, 2));
}

double number_or(const Fields& fields, const char* name, double otherwise) {
  const double given = fields.number(name, 0);
  return given == 0 ? otherwise : given;
}

namespace {

Expr scalar_of(const LayerNode& in, double value) { return make_scalar(value, in.dtype(in[0])); }

/// The axes of channels, rows and columns that the data has.
std::vector<int64_t> image_axes(const LayerNode& in, const Expr& x) {
  const int first = channel_axis(in, x);
  std::vector<int64_t> out;
  for (int axis = first; axis < static_cast<int>(in.rank(x)); ++axis) out.push_back(axis);
  return out;
}

/// Data that is (batch, channels) beside images of such a batch, as (batch, channels, 1, 1).
Exprs of_one_rank(const LayerNode& in) {
  Exprs out = in.inputs();
  size_t most = 0;
  for (const Expr& x : out) most = std::max(most, in.rank(x));
  for (Expr& x : out)
    if (!in.flag(kHasExactShapes) && in.rank(x) == 2 && most == 4) x = typed(expand_dims(x, 2, 2));
  return out;
}

template <class F>
Exprs folded(LayerNode& in, F&& combine) {
  Exprs all = of_one_rank(in);
  if (all.empty()) in.invalid("there is no input");
  Expr out = all[0];
  for (size_t i = 1; i < all.size(); ++i) out = typed(combine(out, all[i]));
  return {out};
}
Exprs sum_layer(LayerNode& in) {
  return in.size() == 1 ? Exprs{add(in[0], scalar_of(in, in.number("alpha", 0)))} : folded(in, add);
}
Exprs multiply_layer(LayerNode& in) {
  return in.size() == 1 ? Exprs{multiply(in[0], scalar_of(in, in.number("alpha", 0)))} : folded(in, multiply);
}
Exprs average_layer(LayerNode& in) {
  return {divide(folded(in, add)[0], scalar_of(in, static_cast<double>(in.size())))};
}
Exprs largest(LayerNode& in) { return folded(in, maximum); }
Exprs smallest(LayerNode& in) { return folded(in, minimum); }

Exprs unary_function(LayerNode& in) {
  const std::string type = in.text("type", "SQRT");
  const double scale = number_or(in.fields(), "scale", 1), shift = in.number("shift", 0);
  const Expr alpha = scalar_of(in, in.number("alpha", 0)),
             epsilon = scalar_of(in, number_or(in.fields(), "epsilon", 1e-6));
  Expr x = scale == 1 ? in[0] : multiply(in[0], scalar_of(in, scale));
  if (shift != 0) x = add(x, scalar_of(in, shift));
  if (type == "SQRT") return {sqrt(x)};
  if (type == "RSQRT") return {rsqrt(add(x, epsilon))};
  if (type == "INVERSE") return {divide(scalar_of(in, 1), add(x, epsilon))};
  if (type == "POWER") return {power(x, alpha)};
  if (type == "EXP") return {exp(x)};
  if (type == "LOG") return {log(x)};
  if (type == "ABS") return {call_op("abs", {x})};
  if (type == "THRESHOLD") return {maximum(x, alpha)};
  in.unsupported("the function " + type);
}

// ---- activations -----------------------------------------------------------------------------------------------------

using Activation = Expr (*)(LayerNode&, const Fields&);
const std::pair<const char*, Activation> kActivations[] = {
    {"ELU",
     [](LayerNode& in, const Fields& of) { return apply(in, "Elu", {in[0]}, {{"alpha", of.number("alpha", 0)}}); }},
    {"PReLU",
     [](LayerNode& in, const Fields& of) {
       const Expr slopes = along_channels(in, weights_of(in, of, "alpha"), in[0]), zero = scalar_of(in, 0);
       return add(maximum(in[0], zero), multiply(slopes, minimum(in[0], zero)));
     }},
    {"ReLU", [](LayerNode& in, const Fields&) { return call_op("nn.relu", {in[0]}); }},
    {"leakyReLU", [](LayerNode& in,
                     const Fields& of) { return apply(in, "LeakyRelu", {in[0]}, {{"alpha", of.number("alpha", 0)}}); }},
    {"linear",
     [](LayerNode& in, const Fields& of) {
       return add(multiply(in[0], scalar_of(in, of.number("alpha", 0))), scalar_of(in, of.number("beta", 0)));
     }},
    {"parametricSoftplus",
     [](LayerNode& in, const Fields& of) {
       const Expr alpha = along_channels(in, weights_of(in, of, "alpha"), in[0]);
       const Expr beta = along_channels(in, weights_of(in, of, "beta"), in[0]);
       return multiply(alpha, apply(in, "Softplus", {typed(multiply(in[0], beta))}));
     }},
    {"scaledTanh",
     [](LayerNode& in, const Fields& of) {
       return multiply(tanh(multiply(in[0], scalar_of(in, of.number("beta", 0)))),
                       scalar_of(in, of.number("alpha", 0)));
     }},
    {"sigmoid", [](LayerNode& in, const Fields&) { return sigmoid(in[0]); }},
    {"sigmoidHard",
     [](LayerNode& in, const Fields& of) {
       return apply(in, "HardSigmoid", {in[0]}, {{"alpha", of.number("alpha", 0)}, {"beta", of.number("beta", 0)}});
     }},
    {"softplus", [](LayerNode& in, const Fields&) { return apply(in, "Softplus", {in[0]}); }},
    {"softsign", [](LayerNode& in, const Fields&) { return apply(in, "Softsign", {in[0]}); }},
    {"tanh", [](LayerNode& in, const Fields&) { return tanh(in[0]); }},
    {"thresholdedReLU",
     [](LayerNode& in, const Fields& of) {
       return apply(in, "ThresholdedRelu", {in[0]}, {{"alpha", of.number("alpha", 0)}});
     }},
};

Exprs activation_layer(LayerNode& in) {
  for (const auto& [name, convert] : kActivations)
    if (in.fields().has(name)) return {convert(in, in.fields().object(name))};
  in.unsupported("an activation of this kind");
}

// ---- linear layers ---------------------------------------------------------------------------------------------------

/// Leading dimensions of data by its rank; the others are the vector.
size_t leading_of(const LayerNode& in, size_t rank) {
  constexpr size_t kExact[] = {0, 0, 1, 2, 1, 2}, kImages[] = {0, 0, 1, 0, 1, 2};
  if (rank < 1 || rank > 5) in.invalid("the data has " + std::to_string(rank) + " dimensions; 1 to 5 are supported");
  return in.flag(kHasExactShapes) ? kExact[rank] : kImages[rank];
}
/// Rows of a matrix as data of the first `leading` dimensions of `like`.
Expr as_data(const LayerNode& in, Expr rows, const Expr& like, size_t leading, int64_t channels) {
  const bool is_exact_image = in.flag(kHasExactShapes) && in.rank(like) >= 4;
  std::vector<int64_t> shape;
  if (leading == 1) shape.push_back(0);  // as it is, also where only a run knows it
  if (leading == 2) {
    Ints all = in.static_shape(like, "a layer of two batch dimensions");
    shape = {all[0], all[1]};
  }
  shape.push_back(channels);
  if (is_exact_image) shape.insert(shape.end(), {1, 1});
  return leading == 1 && !is_exact_image ? rows : reshape(rows, int_array(shape));
}

Exprs inner_product_layer(LayerNode& in) {
  const size_t leading = leading_of(in, in.rank(in[0]));
  const int64_t inputs = in.integer("inputChannels"), outputs = in.integer("outputChannels");
  if (inputs < 1 || outputs < 1) in.invalid("inputChannels and outputChannels must be above zero");
  Expr rows = reshape(in[0], int_array(leading == 1 ? std::vector<int64_t>{0, -1} : std::vector<int64_t>{-1, inputs}));
  Expr out = call_op("nn.dense", {rows, weights_of(in, in.fields(), "weights")}, make_attrs<DenseAttrs>([](auto&) {}));
  if (in.flag("hasBias")) out = add(out, weights_of(in, in.fields(), "bias"));
  return {as_data(in, out, in[0], leading, outputs)};
}

Exprs embedding_layer(LayerNode& in) {
  const size_t rank = in.rank(in[0]), leading = rank == 5 ? 2 : 1;
  const int64_t outputs = in.integer("outputChannels");
  Expr table = transpose(weights_of(in, in.fields(), "weights"), int_array({1, 0}));
  Expr out = take(table, cast(reshape_to(in[0], {-1}), DataType::Int(32)), 0);
  if (in.flag("hasBias")) out = add(out, weights_of(in, in.fields(), "bias"));
  return {as_data(in, out, in[0], leading, outputs)};
}

Exprs dot_layer(LayerNode& in) {
  const std::vector<int64_t> axes = image_axes(in, in[0]);
  auto total = [&](const Expr& a, const Expr& b) { return sum(multiply(a, b), int_array(axes), true); };
  Expr out = total(in[0], in[1]);
  if (!in.flag("cosineSimilarity")) return {out};
  return {divide(out, sqrt(multiply(total(in[0], in[0]), total(in[1], in[1]))))};
}

// ---- norms -----------------------------------------------------------------------------------------------------------

Expr normalized(const LayerNode& in, const Expr& x, const std::vector<int64_t>& axes, double epsilon) {
  Expr from_mean = subtract(x, mean(x, int_array(axes), true));
  Expr variance = mean(multiply(from_mean, from_mean), int_array(axes), true);
  return divide(from_mean, sqrt(add(variance, make_scalar(epsilon, in.dtype(x)))));
}

Exprs batchnorm_layer(LayerNode& in) {
  const double epsilon = number_or(in.fields(), "epsilon", 1e-5);
  const int axis = channel_axis(in, in[0]);
  auto channels = [&](const char* name) { return along_channels(in, weights_of(in, in.fields(), name), in[0]); };
  Expr out;
  if (in.flag("computeMeanVar")) {
    std::vector<int64_t> axes;
    for (int i = in.flag("instanceNormalization") ? axis + 1 : 0; i < static_cast<int>(in.rank(in[0])); ++i)
      if (i != axis) axes.push_back(i);
    out = normalized(in, in[0], axes, epsilon);
  } else if (in.rank(in[0]) == 4) {
    Expr variance = weights_of(in, in.fields(), "variance");
    Expr gamma = in.fields().has("gamma") ? weights_of(in, in.fields(), "gamma") : ones_like(variance);
    Expr beta = in.fields().has("beta") ? weights_of(in, in.fields(), "beta") : zeros_like(variance);
    return {apply(in, "BatchNormalization",
                  {in[0], typed(gamma), typed(beta), weights_of(in, in.fields(), "mean"), variance},
                  {{"epsilon", epsilon}})};
  } else {
    Expr deviation = sqrt(add(channels("variance"), scalar_of(in, epsilon)));
    out = divide(subtract(in[0], channels("mean")), deviation);
  }
  if (in.fields().has("gamma")) out = multiply(out, channels("gamma"));
  return {in.fields().has("beta") ? add(out, channels("beta")) : out};
}

Exprs mean_variance_layer(LayerNode& in) {
  std::vector<int64_t> axes = image_axes(in, in[0]);
  if (!in.flag("acrossChannels")) axes.erase(axes.begin());
  if (!in.flag("normalizeVariance")) return {subtract(in[0], mean(in[0], int_array(axes), true))};
  return {normalized(in, in[0], axes, number_or(in.fields(), "epsilon", 1e-5))};
}

Exprs l2_normalize(LayerNode& in) {
  Expr squares = sum(multiply(in[0], in[0]), int_array(image_axes(in, in[0])), true);
  return {divide(in[0], sqrt(add(squares, scalar_of(in, number_or(in.fields(), "epsilon", 1e-6)))))};
}

Exprs lrn_layer(LayerNode& in) {
  const int64_t size = in.integer("localSize", 0);
  if (size < 1 || size > 1 << 20) in.invalid("localSize is " + std::to_string(size));
  return {call_op("nn.lrn", {in[0]}, make_attrs<LRNAttrs>([&](auto& to) {
                    to.size = static_cast<int32_t>(size);
                    to.axis = channel_axis(in, in[0]);
                    to.bias = number_or(in.fields(), "k", 1);
                    to.alpha = in.number("alpha", 0), to.beta = in.number("beta", 0);
                  }))};
}

/// Over the channels. Without rows and columns the result is (batch, channels), where the model has no exact shapes.
Exprs softmax_layer(LayerNode& in) {
  Expr out = softmax_of(in[0], channel_axis(in, in[0]));
  std::optional<std::vector<int64_t>> shape = in.fixed_shape(in[0]);
  const bool is_vector =
      !in.flag(kHasExactShapes) && shape && shape->size() == 4 && (*shape)[2] == 1 && (*shape)[3] == 1;
  return {is_vector ? reshape(out, int_array({0, -1})) : out};
}

/// A tensor that says its shape as [C], [1, H, W] or [C, H, W], so that it broadcasts against the data.
Expr broadcast_weight(const LayerNode& in, const char* name) {
  Expr out = weights_of(in, in.fields(), name);
  return in.rank(out) == 1 ? along_channels(in, out, in[0]) : out;
}
Exprs scale_layer_of_channels(LayerNode& in) {
  Expr out = multiply(in[0], broadcast_weight(in, "scale"));
  return {in.flag("hasBias") ? add(out, broadcast_weight(in, "bias")) : out};
}
Exprs bias_layer_of_channels(LayerNode& in) { return {add(in[0], broadcast_weight(in, "bias"))}; }

// ---- images before the first layer -----------------------------------------------------------------------------------

Exprs image_scaler(LayerNode& in) {
  const std::string order = in.text("colorSpace", "BGR");
  const double scale = in.number("channelScale", 0);
  std::vector<double> biases{in.number("blueBias", 0), in.number("greenBias", 0), in.number("redBias", 0)};
  if (order == "RGB") std::swap(biases[0], biases[2]);
  if (order.starts_with("GRAY")) biases = {in.number("grayBias", 0)};
  Expr out = scale == 1 ? in[0] : multiply(in[0], scalar_of(in, scale));
  if (std::all_of(biases.begin(), biases.end(), [](double bias) { return bias == 0; })) return {out};
  return {add(out, numbers_of(biases, {static_cast<int64_t>(biases.size()), 1, 1}, in.dtype(in[0])))};
}

/// One number for each element, or for all.
Exprs mean_image(LayerNode& in) {
  Expr numbers = weights_of(in, in.fields(), "meanImage");
  Ints shape = in.static_shape(in[0], "the mean of an image"), size = in.static_shape(numbers, "the mean of an image");
  if (size[0] == 1) return {subtract(in[0], numbers)};
  if (shape.size() < 3) in.invalid("the data is no image");
  return {subtract(in[0], reshape_to(numbers, {shape.end() - 3, shape.end()}))};
}

}  // namespace

LayerRows channel_rows() {
  return {
      {"activation", activation_layer},
      {"add", sum_layer},
      {"average", average_layer},
      {"batchnorm", batchnorm_layer},
      {"bias", bias_layer_of_channels},
      {"dot", dot_layer},
      {"embedding", embedding_layer},
      {"innerProduct", inner_product_layer},
      {"l2normalize", l2_normalize},
      {"lrn", lrn_layer},
      {"max", largest},
      {"meanImage", mean_image},
      {"min", smallest},
      {"multiply", multiply_layer},
      {"mvn", mean_variance_layer},
      {"scale", scale_layer_of_channels},
      {"scaler", image_scaler},
      {"softmax", softmax_layer},
      {"unary", unary_function},
  };
}

}  // namespace tessera::coreml
