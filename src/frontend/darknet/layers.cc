// Converters of the layers. What their shapes are, and which options fit, the reader of the network has checked.

#include <algorithm>

#include "frontend/common/extents.h"
#include "frontend/common/parts.h"
#include "frontend/common/windows.h"
#include "frontend/darknet/darknet.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/pad.h"
#include "relay/attrs/vision.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::darknet {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

constexpr double kEpsilon = 1e-6;  // of batch norms

Expr number(double value) { return make_scalar(value, DataType::Float(32)); }

/// `slope` times what lies beyond [low, high], to which it is shifted so that nothing jumps.
Expr bent_outside(const Expr& x, double low, double high, double slope) {
  Expr inside = clip(x, low, high);
  return add(inside, multiply(subtract(x, inside), number(slope)));
}

Expr activated(const LayerNode& in, Expr x, const char* otherwise) {
  const std::string kind = in.text("activation", otherwise);
  typed(x);
  auto leaky = [&](double slope) { return apply(in, "LeakyRelu", {x}, {{"alpha", slope}}); };
  if (kind == "linear") return x;
  if (kind == "leaky") return leaky(0.1);
  if (kind == "relu") return call_op("nn.relu", {x});
  if (kind == "logistic") return sigmoid(x);
  if (kind == "mish") return apply(in, "Mish", {x});
  if (kind == "swish") return multiply(x, sigmoid(x));
  if (kind == "tanh") return tanh(x);
  if (kind == "elu") return apply(in, "Elu", {x});
  if (kind == "selu") return apply(in, "Selu", {x});
  if (kind == "relu6") return clip(x, 0, 6);
  if (kind == "relie") return leaky(0.01);
  if (kind == "ramp") return add(call_op("nn.relu", {x}), multiply(x, number(0.1)));
  if (kind == "loggy") return subtract(multiply(sigmoid(x), number(2)), number(1));
  if (kind == "hardtan") return clip(x, -1, 1);
  if (kind == "lhtan") return bent_outside(x, 0, 1, 0.001);
  if (kind == "plse") return bent_outside(add(multiply(x, number(0.125)), number(0.5)), 0, 1, 0.08);
  in.unsupported("the activation " + kind);
}

/// The norm, if there is one, with the biases behind it; else the biases alone.
Expr normed(const LayerNode& in, Expr x, size_t biases) {
  typed(x);
  if (!in.flag("batch_normalize"))
    return call_op("nn.bias_add", {x, in.weight(biases)}, make_attrs<BiasAddAttrs>([](auto&) {}));
  return apply(in, "BatchNormalization", {x, in.weight(1), in.weight(biases), in.weight(2), in.weight(3)},
               {{"epsilon", kEpsilon}});
}

Exprs convolutional(LayerNode& in) {
  for (const char* name : {"binary", "xnor", "deform", "rotate", "sway", "antialiasing", "share_index", "flipped"})
    if (in.fields().has(name) && in.integer(name, 0) != 0) in.unsupported(std::string("the option ") + name);
  Expr weights = in.weight(in.flag("batch_normalize") ? 4 : 1);
  const int64_t stride = in.integer("stride", 1), dilation = in.integer("dilation", 1);
  const int64_t padding = in.integer("padding", 0) * dilation;
  Expr out = apply(in, "Conv", {in[0], weights},
                   {{"strides", std::vector<int64_t>{in.integer("stride_y", stride), in.integer("stride_x", stride)}},
                    {"dilations", std::vector<int64_t>(2, dilation)},
                    {"pads", std::vector<int64_t>(4, padding)},
                    {"group", in.integer("groups", 1)}});
  return {activated(in, normed(in, out, 0), "logistic")};
}

Expr flat(const LayerNode& in, const Expr& x) { return typed(merged(x, 1, static_cast<int>(in.rank(x)))); }

Exprs connected(LayerNode& in) {
  Expr weights = in.flag("transpose") ? transpose(in.weight(1), int_array({1, 0})) : in.weight(1);
  Expr out = typed(call_op("nn.dense", {flat(in, in[0]), weights}, make_attrs<DenseAttrs>([](auto&) {})));
  if (!in.flag("batch_normalize")) return {activated(in, add(out, in.weight(0)), "logistic")};
  out = apply(in, "BatchNormalization", {out, in.weight(2), in.weight(0), in.weight(3), in.weight(4)},
              {{"epsilon", kEpsilon}});
  return {activated(in, out, "logistic")};
}

Exprs max_pooled(LayerNode& in) {
  if (in.flag("maxpool_depth") || in.flag("antialiasing")) in.unsupported("maxpool_depth and antialiasing");
  const int64_t stride = in.integer("stride", 1), size = in.integer("size", stride),
                padding = in.integer("padding", size - 1);
  const int64_t before = padding / 2, after = padding - before;
  return {apply(in, "MaxPool", {in[0]},
                {{"kernel_shape", std::vector<int64_t>(2, size)},
                 {"strides", std::vector<int64_t>(2, stride)},
                 {"pads", std::vector<int64_t>{before, before, after, after}}})};
}
Exprs average(LayerNode& in) { return {mean(in[0], int_array({2, 3}), true)}; }

Exprs soft_max(LayerNode& in) {
  if (in.fields().has("tree")) in.unsupported("a tree of classes");
  const double temperature = in.number("temperature", 1);
  Expr x = temperature == 1 ? in[0] : divide(in[0], number(temperature));
  typed(x);
  if (in.flag("spatial")) return {softmax_of(x, 1)};
  x = flat(in, x);
  const int64_t groups = in.integer("groups", 1);
  if (groups == 1) return {softmax_of(x, 1)};
  Ints shape = in.static_shape(x, "a softmax of groups");
  if (groups < 1 || shape[1] % groups) in.invalid("groups do not divide the input");
  return {reshape_to(softmax_of(typed(reshape_to(x, {shape[0], groups, shape[1] / groups})), 2), {shape[0], shape[1]})};
}

Exprs identity(LayerNode& in) { return {in[0]}; }
Exprs activation(LayerNode& in) { return {activated(in, in[0], "linear")}; }

Exprs route(LayerNode& in) {
  Expr out = in.size() == 1 ? in[0] : typed(concatenate(Array<Expr>(in.inputs().begin(), in.inputs().end()), 1));
  const int64_t groups = in.integer("groups", 1), group = in.integer("group_id", 0);
  if (groups == 1) return {out};
  const int64_t each = in.static_shape(out, "a group")[1] / groups;
  return {slice(out, 1, group * each, (group + 1) * each)};
}

Exprs reorg(LayerNode& in) {
  if (in.flag("reverse") || in.flag("flatten") || in.fields().has("extra"))
    in.unsupported("reverse, flatten and extra");
  return {call_op("vision.yolo_reorg", {in[0]}, make_attrs<YoloReorgAttrs>([&](auto& to) {
                    to.stride = PrimExpr(static_cast<int>(in.integer("stride", 1)));
                  }))};
}

/// Images of other sizes are added element by element where both have one: every so many elements of the larger.
Exprs shortcut(LayerNode& in) {
  for (const char* name : {"weights_type", "weights_normalization"})
    if (in.fields().has(name) && in.text(name) != "none") in.unsupported(std::string("the option ") + name);
  Ints own = in.static_shape(in[0], "a shortcut"), other = in.static_shape(in[1], "a shortcut");
  Expr from = in[1];
  if (own.size() != 4 || other.size() != 4) {
    if (own != other) in.unsupported("vectors of other lengths");
    return {activated(in, add(in[0], from), "linear")};
  }
  const int64_t channels = std::min(own[1], other[1]);
  if (other[1] > channels) from = slice(from, 1, 0, channels);
  const int64_t stride = std::max<int64_t>(other[3] / own[3], 1), sample = std::max<int64_t>(own[3] / other[3], 1);
  if (stride != std::max<int64_t>(other[2] / own[2], 1) || sample != std::max<int64_t>(own[2] / other[2], 1))
    in.unsupported("images of other proportions");
  std::vector<int64_t> missing{0, own[1] - channels};
  for (int axis : {2, 3}) {
    const auto i = static_cast<size_t>(axis);
    const int64_t count = std::min(own[i], other[i]);
    if (stride > 1) from = slice(from, axis, 0, std::min(count * stride, other[i]), stride);
    else if (other[i] > count) from = slice(from, axis, 0, count);
    typed(from);
    missing.push_back(0);
  }
  if (sample > 1) {
    const Array<PrimExpr> steps = int_array({1, 1, sample, sample});
    from = typed(call_op("nn.dilate", {from}, make_attrs<DilateAttrs>([&](auto& to) { to.strides = steps; })));
  }
  Ints now = in.static_shape(from, "a shortcut");
  for (size_t i : {size_t{2}, size_t{3}}) {
    missing[i] = own[i] - now[i];
    if (missing[i] < 0) in.unsupported("images whose sizes do not divide each other");
  }
  if (std::any_of(missing.begin(), missing.end(), [](int64_t n) { return n > 0; }))
    from = pad_with(from, {0, 0, 0, 0}, missing, 0);
  return {activated(in, add(in[0], from), "linear")};
}

/// A factor for each channel, the previous layer's, of another layer's images.
Exprs scale_channels(LayerNode& in) {
  if (in.flag("scale_wh")) in.unsupported("scale_wh");
  return {activated(in, multiply(in[1], in[0]), "linear")};
}
Exprs product(LayerNode& in) { return {activated(in, multiply(in[0], in[1]), "linear")}; }

Exprs upsample(LayerNode& in) {
  const auto stride = static_cast<int>(in.integer("stride", 2));
  const double scale = in.number("scale", 1);
  Expr out = repeat(repeat(in[0], stride, 2), stride, 3);
  return {scale == 1 ? out : multiply(out, number(scale))};
}

Exprs unit_length(LayerNode& in) { return {divide(in[0], sqrt(sum(multiply(in[0], in[0]), int_array({1}), true)))}; }

// ---- boxes ----------------------------------------------------------------------------------------------------------

/// (batch, boxes * numbers, ...) as (batch, boxes, numbers, ...), given to `decode` in parts of the numbers, and back.
template <class F>
Expr by_box(const LayerNode& in, int64_t boxes, F&& decode) {
  Ints shape = in.static_shape(in[0], "boxes");
  Expr x = typed(reshape_to(in[0], {shape[0], boxes, shape[1] / boxes, shape[2], shape[3]}));
  auto part = [&](int64_t begin, int64_t end) { return typed(slice(x, 2, begin, end)); };
  Array<Expr> parts = decode(part, shape[1] / boxes);
  return reshape_to(concatenate(parts, 2), shape);
}

/// Positions and scores through the logistic function, sizes as they are.
Exprs yolo(LayerNode& in) {
  const double scale = in.number("scale_x_y", 1);
  const bool is_active = !in.flag("new_coords");  // else the layer before it has done that
  return {by_box(in, in.integer("num"), [&](auto part, int64_t numbers) {
    auto logistic = [&](Expr x) { return is_active ? sigmoid(x) : x; };
    Expr position = logistic(part(0, 2));
    if (scale != 1) position = subtract(multiply(position, number(scale)), number((scale - 1) / 2));
    return Array<Expr>{position, part(2, 4), logistic(part(4, numbers))};
  })};
}

Exprs region(LayerNode& in) {
  const int64_t coords = in.integer("coords", 4);
  const bool is_softmax = in.flag("softmax"), has_background = in.flag("background");
  if (in.fields().has("tree") || in.fields().has("map")) in.unsupported("a tree of classes");
  return {by_box(in, in.integer("num", 1), [&](auto part, int64_t numbers) {
    Array<Expr> out{sigmoid(part(0, 2))};
    if (coords > 2) out.push_back(part(2, coords));
    if (is_softmax && has_background) {  // the background is one of the classes
      out.push_back(softmax_of(part(coords, numbers), 2));
      return out;
    }
    out.push_back(has_background ? part(coords, coords + 1) : sigmoid(part(coords, coords + 1)));
    if (numbers > coords + 1) {
      Expr classes = part(coords + 1, numbers);
      out.push_back(is_softmax ? softmax_of(classes, 2) : sigmoid(classes));
    }
    return out;
  })};
}

}  // namespace

LayerRows layer_rows() {
  return {
      {"activation", activation},
      {"avgpool", average},
      {"connected", connected},
      {"convolutional", convolutional},
      {"cost", identity},
      {"dropout", identity},
      {"l2norm", unit_length},
      {"maxpool", max_pooled},
      {"region", region},
      {"reorg", reorg},
      {"route", route},
      {"sam", product},
      {"scale_channels", scale_channels},
      {"shortcut", shortcut},
      {"softmax", soft_max},
      {"upsample", upsample},
      {"yolo", yolo},
  };
}

}  // namespace tessera::darknet
