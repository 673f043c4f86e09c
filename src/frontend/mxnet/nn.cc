// Linear layers, activations, norms, recurrent layers.

#include <cmath>

#include "frontend/common/parts.h"
#include "frontend/mxnet/mxnet.h"
#include "frontend/onnx/apply.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/norm.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::mxnet {
namespace {

using namespace relay;  // NOLINT: makers of calls
using onnx::apply;

Expr number_like(const LayerNode& in, const Expr& x, double value) { return make_scalar(value, in.dtype(x)); }

Exprs fully_connected(LayerNode& in) {
  Expr x = in.flag("flatten", true) && in.rank(in[0]) != 2 ? call_op("nn.batch_flatten", {in[0]}) : in[0];
  Expr out = call_op("nn.dense", {x, in[1]}, make_attrs<DenseAttrs>([](auto&) {}));
  return {in.flag("no_bias") ? out : add(out, in[2])};
}

Exprs dot(LayerNode& in) {
  if (in.rank(in[0]) > 2 || in.rank(in[1]) > 2) in.unsupported("data of more than two dimensions");
  Expr a = in.flag("transpose_a") ? transpose(in[0]) : in[0], b = in.flag("transpose_b") ? transpose(in[1]) : in[1];
  Expr out = matmul_like_numpy(in, a, b);
  return {in.rank(typed(out)) == 0 ? expand_dims(out, 0) : out};
}
Exprs batch_dot(LayerNode& in) {
  const Array<PrimExpr> swapped = int_array({0, 2, 1});
  if (in.rank(in[0]) != 3 || in.rank(in[1]) != 3) in.unsupported("data of other than three dimensions");
  Expr a = in.flag("transpose_a") ? transpose(in[0], swapped) : in[0],
       b = in.flag("transpose_b") ? transpose(in[1], swapped) : in[1];
  return {matmul_like_numpy(in, a, b)};
}

// ---- activations ----------------------------------------------------------------------------------------------------

Exprs activation(LayerNode& in) {
  const std::string kind = in.text("act_type");
  if (kind == "relu") return {call_op("nn.relu", {in[0]})};
  if (kind == "sigmoid") return {sigmoid(in[0])};
  if (kind == "tanh") return {tanh(in[0])};
  if (kind == "softrelu") return {apply(in, "Softplus", {in[0]})};
  if (kind == "softsign") return {apply(in, "Softsign", {in[0]})};
  if (kind == "log_sigmoid") return {negative(apply(in, "Softplus", {negative(in[0])}))};
  if (kind == "mish") return {apply(in, "Mish", {in[0]})};
  in.unsupported("the activation " + kind);
}
Exprs leaky_relu(LayerNode& in) {
  const std::string kind = in.text("act_type", "leaky");
  const double slope = in.number("slope", 0.25);
  if (kind == "leaky") return {apply(in, "LeakyRelu", {in[0]}, {{"alpha", slope}})};
  if (kind == "elu") return {apply(in, "Elu", {in[0]}, {{"alpha", slope}})};
  if (kind == "selu") return {apply(in, "Selu", {in[0]})};
  if (kind == "gelu") return {apply(in, "Gelu", {in[0]})};
  if (kind == "rrelu") {
    const double middle = (in.number("lower_bound", 0.125) + in.number("upper_bound", 0.334)) / 2;
    return {apply(in, "LeakyRelu", {in[0]}, {{"alpha", middle}})};
  }
  if (kind != "prelu") in.unsupported("the activation " + kind);
  Expr slopes = in[1];
  if (in.rank(slopes) == 1 && in.rank(in[0]) > 2) slopes = expand_dims(slopes, 1, static_cast<int>(in.rank(in[0])) - 2);
  Expr zero = number_like(in, in[0], 0);
  return {add(maximum(in[0], zero), multiply(slopes, minimum(in[0], zero)))};
}

Expr scaled_by_temperature(const LayerNode& in) {
  const double temperature = in.number("temperature", 1);
  return temperature == 1 ? in[0] : divide(in[0], number_like(in, in[0], temperature));
}
Exprs softmax(LayerNode& in) {
  if (in.flag("use_length")) {
    const int axis = in.axis(in.integer("axis", -1), in.rank(in[0]));
    const auto rank = static_cast<int>(in.rank(in[0]));
    if (axis != rank - 1) in.unsupported("lengths along an axis other than the last");
    Ints shape = in.static_shape(in[0], "a softmax with lengths");
    std::vector<int64_t> counted;
    for (int64_t i = 0; i < shape.back(); ++i) counted.push_back(i);
    Expr inside = less(make_ints(counted, DataType::Int(32)), expand_dims(cast(in[1], DataType::Int(32)), rank - 1));
    Expr x = where(inside, scaled_by_temperature(in), number_like(in, in[0], -1e30));
    return {where(inside, softmax_of(typed(x), axis), number_like(in, in[0], 0))};
  }
  return {softmax_of(typed(scaled_by_temperature(in)), in.axis(in.integer("axis", -1), in.rank(in[0])))};
}
Exprs softmin(LayerNode& in) {
  return {softmax_of(typed(negative(scaled_by_temperature(in))), in.axis(in.integer("axis", -1), in.rank(in[0])))};
}
Exprs log_softmax(LayerNode& in) {
  return {apply(in, "LogSoftmax", {scaled_by_temperature(in)}, {{"axis", in.integer("axis", -1)}})};
}
Exprs softmax_output(LayerNode& in) {
  if (in.flag("multi_output")) return {softmax_of(in[0], 1)};
  if (in.flag("preserve_shape") || in.rank(in[0]) == 2)
    return {softmax_of(in[0], static_cast<int>(in.rank(in[0])) - 1)};
  return {reshape_like(softmax_of(typed(call_op("nn.batch_flatten", {in[0]})), 1), in[0])};
}
Exprs softmax_activation(LayerNode& in) {
  if (in.text("mode", "instance") == "channel") return {softmax_of(in[0], 1)};
  return {reshape_like(softmax_of(typed(call_op("nn.batch_flatten", {in[0]})), 1), in[0])};
}
Exprs same(LayerNode& in) { return {in[0]}; }
Exprs logistic(LayerNode& in) { return {sigmoid(in[0])}; }

// ---- norms ----------------------------------------------------------------------------------------------------------

Exprs batch_norm(LayerNode& in) {
  const int axis = in.axis(in.integer("axis", 1), in.rank(in[0]));
  Expr gamma = in.flag("fix_gamma", true) ? ones_like(in[1]) : in[1];
  Attrs attrs = make_attrs<BatchNormAttrs>([&](auto& to) {
    to.axis = axis;
    to.epsilon = in.number("eps", 1e-3);
  });
  return {make_get_item(call_op("nn.batch_norm", {in[0], gamma, in[2], in[3], in[4]}, attrs), 0), in[3], in[4]};
}

/// Mean and variance of `axes`, without scale and offset.
Expr centered(const LayerNode& in, const Expr& x, const std::vector<int64_t>& axes, double epsilon) {
  Expr from_mean = subtract(x, mean(x, int_array(axes), true));
  Expr variance = mean(multiply(from_mean, from_mean), int_array(axes), true);
  return multiply(from_mean, rsqrt(add(variance, number_like(in, x, epsilon))));
}
Expr along(const LayerNode& in, const Expr& x, int axis, size_t rank) {
  return expand_dims(x, static_cast<int>(in.rank(x)), static_cast<int>(rank) - axis - 1);
}
Exprs instance_norm(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  std::vector<int64_t> axes;
  for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  Expr x = centered(in, in[0], axes, in.number("eps", 1e-3));
  return {add(multiply(x, along(in, in[1], 1, rank)), along(in, in[2], 1, rank))};
}
Exprs layer_norm(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  const int axis = in.axis(in.integer("axis", -1), rank);
  Expr x = centered(in, in[0], {axis}, in.number("eps", 1e-5));
  return {add(multiply(x, along(in, in[1], axis, rank)), along(in, in[2], axis, rank))};
}
Exprs group_norm(LayerNode& in) {
  const size_t rank = in.rank(in[0]);
  Ints shape = in.static_shape(in[0], "a group norm"), grouped = shape;
  const int64_t groups = in.integer("num_groups", 1);
  if (groups < 1 || shape[1] % groups) in.invalid("num_groups does not divide the channels");
  grouped[1] = groups;
  grouped.insert(grouped.begin() + 2, shape[1] / groups);
  std::vector<int64_t> axes;
  for (size_t i = 2; i < grouped.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  Expr x = reshape_to(centered(in, typed(reshape_to(in[0], grouped)), axes, in.number("eps", 1e-5)), shape);
  auto by_channel = [&](const Expr& parameter) {
    Ints own = in.static_shape(parameter, "a group norm");
    Expr each = own[0] == shape[1] ? parameter : repeat(parameter, static_cast<int>(shape[1] / groups), 0);
    return along(in, typed(each), 1, rank);
  };
  return {add(multiply(x, by_channel(in[1])), by_channel(in[2]))};
}
Exprs lrn(LayerNode& in) {
  return {call_op("nn.lrn", {in[0]}, make_attrs<LRNAttrs>([&](auto& to) {
                    to.size = static_cast<int32_t>(in.integer("nsize"));
                    to.axis = 1;
                    to.bias = in.number("knorm", 2);
                    to.alpha = in.number("alpha", 1e-4);
                    to.beta = in.number("beta", 0.75);
                  }))};
}
Exprs l2_normalization(LayerNode& in) {
  const std::string mode = in.text("mode", "instance");
  std::vector<int64_t> axes;
  const auto rank = static_cast<int64_t>(in.rank(in[0]));
  if (mode == "channel") axes = {1};
  else
    for (int64_t i = mode == "spatial" ? 2 : 1; i < rank; ++i) axes.push_back(i);
  Expr squares = sum(multiply(in[0], in[0]), int_array(axes), true);
  return {divide(in[0], sqrt(add(squares, number_like(in, in[0], in.number("eps", 1e-10)))))};
}
Exprs div_sqrt_dim(LayerNode& in) {
  Ints shape = in.static_shape(in[0], "the last extent");
  return {divide(in[0], number_like(in, in[0], std::sqrt(static_cast<double>(shape.back()))))};
}

// ---- attention ------------------------------------------------------------------------------------------------------

/// Heads lie beside each other, and of each head the projections: (length, batch, heads * parts * size).
struct Interleaved {
  int64_t length, batch, heads, parts, size;
};
Interleaved interleaved(const LayerNode& in, const Expr& x, int64_t parts) {
  Ints shape = in.static_shape(x, "interleaved attention");
  const int64_t heads = in.integer("heads");
  if (heads < 1 || shape[2] % (heads * parts)) in.invalid("heads do not divide the data");
  return {shape[0], shape[1], heads, parts, shape[2] / heads / parts};
}
/// One projection as (batch * heads, length, size).
Expr projection(const Expr& x, const Interleaved& of, int64_t part) {
  Expr all = reshape_to(x, {of.length, of.batch, of.heads, of.parts, of.size});
  Expr one = squeeze(slice(all, 3, part, part + 1), int_array({3}));
  return reshape_to(transpose(one, int_array({1, 2, 0, 3})), {of.batch * of.heads, of.length, of.size});
}
Exprs attention_scores(LayerNode& in) {
  const Interleaved of = interleaved(in, in[0], 3);
  Expr q = divide(projection(in[0], of, 0), number_like(in, in[0], std::sqrt(static_cast<double>(of.size))));
  return {matmul_like_numpy(in, typed(q), typed(transpose(projection(in[0], of, 1), int_array({0, 2, 1}))))};
}
Exprs attention_values(LayerNode& in) {
  const Interleaved of = interleaved(in, in[0], 3);
  Expr out = matmul_like_numpy(in, in[1], typed(projection(in[0], of, 2)));
  out = transpose(reshape_to(out, {of.batch, of.heads, of.length, of.size}), int_array({2, 0, 1, 3}));
  return {reshape_to(out, {of.length, of.batch, of.heads * of.size})};
}

// ---- recurrent ------------------------------------------------------------------------------------------------------

struct Mode {
  const char* op;
  std::vector<int> gates;  // of MXNet, in ONNX's order
  size_t states;
  const char* activation;  // null: the usual ones
};

/// All weights lie in one vector: of each layer and direction those of the data, then of the state; behind them the biases.
Exprs rnn(LayerNode& in) {
  static const std::unordered_map<std::string, Mode> modes{{"rnn_relu", {"RNN", {0}, 1, "Relu"}},
                                                           {"rnn_tanh", {"RNN", {0}, 1, "Tanh"}},
                                                           {"lstm", {"LSTM", {0, 3, 1, 2}, 2, nullptr}},
                                                           {"gru", {"GRU", {1, 0, 2}, 1, nullptr}}};
  auto found = modes.find(in.text("mode"));
  if (found == modes.end()) in.unsupported("the mode " + in.text("mode"));
  if (in.fields().has("projection_size")) in.unsupported("projection_size");
  if (in.flag("use_sequence_length")) in.unsupported("use_sequence_length");
  const Mode& mode = found->second;
  const int64_t hidden = in.integer("state_size"), layers = in.integer("num_layers");
  const int64_t directions = in.flag("bidirectional") ? 2 : 1, gates = static_cast<int64_t>(mode.gates.size());
  Ints shape = in.static_shape(in[0], "a recurrent layer"), all = in.static_shape(in[1], "a recurrent layer");
  if (hidden < 1 || layers < 1 || layers > 1000 || hidden > (1 << 20)) in.invalid("its numbers make no layers");
  int64_t at = 0, biases = 0;
  for (int64_t layer = 0; layer < layers; ++layer)
    biases += directions * gates * hidden * ((layer ? hidden * directions : shape[2]) + hidden);
  if (all[0] != biases + layers * directions * 2 * gates * hidden) in.invalid("the parameters do not fit its numbers");
  auto piece = [&](int64_t& begin, int64_t columns) {
    Array<Expr> parts;
    for (int gate : mode.gates)
      parts.push_back(slice(in[1], 0, begin + gate * hidden * columns, begin + (gate + 1) * hidden * columns));
    begin += gates * hidden * columns;
    Expr whole = parts.size() == 1 ? parts[0] : concatenate(parts, 0);
    return columns == 1 ? whole : reshape_to(whole, {gates * hidden, columns});
  };
  auto matrix = [&](int64_t& begin, int64_t columns) {
    return reshape_to(piece(begin, columns), {1, gates * hidden, columns});
  };
  Expr x = in[0];
  std::vector<Array<Expr>> states(mode.states);
  for (int64_t layer = 0; layer < layers; ++layer) {
    Array<Expr> w, r, b;
    for (int64_t d = 0; d < directions; ++d) {
      w.push_back(matrix(at, layer ? hidden * directions : shape[2]));
      r.push_back(matrix(at, hidden));
      Expr own = piece(biases, 1), recurrent = piece(biases, 1);
      b.push_back(expand_dims(concatenate({own, recurrent}, 0), 0));
    }
    auto both = [&](const Array<Expr>& parts) { return typed(parts.size() == 1 ? parts[0] : concatenate(parts, 0)); };
    std::vector<Expr> inputs{x, both(w), both(r), both(b), nullptr};
    for (size_t i = 0; i < mode.states; ++i) {
      Ints given = in.has(2 + i) ? in.static_shape(in[2 + i], "a first state") : Ints{0, 0, 0};
      const bool is_given = given[1] == shape[1];  // states of an unknown batch are zeros
      inputs.push_back(is_given ? typed(slice(in[2 + i], 0, layer * directions, (layer + 1) * directions)) : Expr());
    }
    std::vector<onnx::Given> attributes{{"hidden_size", hidden},
                                        {"direction", directions == 2 ? "bidirectional" : "forward"}};
    if (mode.activation)
      attributes.emplace_back("activations",
                              std::vector<std::string>(static_cast<size_t>(directions), mode.activation));
    if (gates == 3) attributes.emplace_back("linear_before_reset", 1);
    std::vector<Expr> made = onnx::apply_all(in, mode.op, inputs, attributes, mode.states + 1);
    x = typed(reshape_to(transpose(made.at(0), int_array({0, 2, 1, 3})), {shape[0], shape[1], directions * hidden}));
    for (size_t i = 0; i < mode.states; ++i) states[i].push_back(made.at(i + 1));
  }
  Exprs out{x};
  for (const Array<Expr>& one : states) out.push_back(one.size() == 1 ? one[0] : concatenate(one, 0));
  return out;
}

Exprs fifo_buffer(LayerNode& in) {
  return {call_op("nn.fifo_buffer", {in[0], in[1]}, make_attrs<FIFOBufferAttrs>([&](auto& to) {
                    to.axis = static_cast<int32_t>(in.integer("axis", 0));
                  }))};
}

}  // namespace

LayerRows nn_rows() {
  return {
      {"Activation", activation},
      {"BatchNorm", batch_norm},
      {"BatchNorm_v1", batch_norm},
      {"CuDNNBatchNorm", batch_norm},
      {"Dropout", same},
      {"FullyConnected", fully_connected},
      {"GroupNorm", group_norm},
      {"InstanceNorm", instance_norm},
      {"L2Normalization", l2_normalization},
      {"LRN", lrn},
      {"LayerNorm", layer_norm},
      {"LeakyReLU", leaky_relu},
      {"LinearRegressionOutput", same},
      {"LogisticRegressionOutput", logistic},
      {"MAERegressionOutput", same},
      {"RNN", rnn},
      {"SVMOutput", same},
      {"Softmax", softmax_output},
      {"SoftmaxActivation", softmax_activation},
      {"SoftmaxOutput", softmax_output},
      {"_contrib_SyncBatchNorm", batch_norm},
      {"_contrib_div_sqrt_dim", div_sqrt_dim},
      {"_contrib_interleaved_matmul_selfatt_qk", attention_scores},
      {"_contrib_interleaved_matmul_selfatt_valatt", attention_values},
      {"batch_dot", batch_dot},
      {"dot", dot},
      {"log_softmax", log_softmax},
      {"ring_buffer", fifo_buffer},
      {"softmax", softmax},
      {"softmin", softmin},
  };
}

}  // namespace tessera::mxnet
