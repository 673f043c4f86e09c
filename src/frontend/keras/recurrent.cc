// Recurrent layers. Keras orders gates otherwise than ONNX, and has its data by batch.

#include <algorithm>

#include "frontend/common/parts.h"
#include "frontend/keras/keras.h"
#include "frontend/onnx/apply.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::keras {
namespace {

using namespace relay;  // NOLINT: makers of calls

struct CellKind {
  const char* op;          // of ONNX
  std::vector<int> gates;  // of Keras, in ONNX's order
  size_t states;
};
const CellKind& kind_of(const std::string& name) {
  static const std::unordered_map<std::string, CellKind> kinds{
      {"SimpleRNN", {"RNN", {0}, 1}}, {"LSTM", {"LSTM", {0, 3, 1, 2}, 2}}, {"GRU", {"GRU", {0, 1, 2}, 1}}};
  auto found = kinds.find(name);
  if (found == kinds.end())
    throw Error(OpNotImplemented) << "the layer " << name << " is no recurrent one that is supported";
  return found->second;
}

/// Columns of so many gates in ONNX's order.
Expr in_order(const Expr& x, int64_t units, const std::vector<int>& gates, int axis) {
  Array<Expr> parts;
  for (int gate : gates) parts.push_back(slice(x, axis, gate * units, (gate + 1) * units));
  return parts.size() == 1 ? parts[0] : concatenate(parts, axis);
}

struct GivenActivations {
  std::vector<std::string> names;
  std::vector<double> alphas, betas;

  void add(const KerasLayer& in, const Fields& config, const char* field, const char* usual) {
    std::string name = config.has(field) && config.get(field).as<StringNode>() ? config.text(field)
                       : config.has(field)                                     ? config.object(field).text("config")
                                                                               : usual;
    const bool is_3 = in.flag("of_keras_3");
    static const std::unordered_map<std::string, const char*> known{
        {"tanh", "Tanh"},         {"sigmoid", "Sigmoid"},   {"relu", "Relu"}, {"hard_sigmoid", "HardSigmoid"},
        {"softplus", "Softplus"}, {"softsign", "Softsign"}, {"elu", "Elu"},   {"linear", "Affine"}};
    auto found = known.find(name);
    if (found == known.end()) in.unsupported("the activation " + name + " of a recurrent layer");
    names.emplace_back(found->second);
    if (name == "hard_sigmoid") alphas.push_back(is_3 ? 1.0 / 6 : 0.2), betas.push_back(0.5);
    if (name == "linear") alphas.push_back(1), betas.push_back(0);
    if (name == "elu") alphas.push_back(1);
  }
};

/// One direction of a layer: all steps (batch, steps, units) in the order in which they are computed, and last states.
Exprs one_direction(KerasLayer& in, const std::string& name, const Fields& config, Expr x, const Exprs& initial,
                    size_t first_weight) {
  const CellKind& kind = kind_of(name);
  const int64_t units = config.integer("units");
  const bool has_bias = config.flag("use_bias", true);
  const bool resets_after = name == "GRU" && config.flag("reset_after", false);
  if (in.rank(x) != 3) in.invalid("the data must be (batch, steps, features)");
  if (units < 1 || units > (1 << 24)) in.invalid("units is " + std::to_string(units));
  if (config.flag("time_major", false)) in.unsupported("time_major");
  Expr data = transpose(x, int_array({1, 0, 2}));
  if (config.flag("go_backwards", false)) data = slice(data, 0, -1, INT32_MIN, -1);
  auto weight = [&](size_t i) { return in.weight(first_weight + i); };
  auto turned = [&](const Expr& w) {
    return expand_dims(transpose(in_order(w, units, kind.gates, 1), int_array({1, 0})), 0);
  };
  Expr bias;
  if (has_bias) {
    const int64_t all = units * static_cast<int64_t>(kind.gates.size());
    Expr given = weight(2);
    Expr own = resets_after ? in_order(reshape_to(slice(given, 0, 0, 1), {all}), units, kind.gates, 0)
                            : in_order(given, units, kind.gates, 0);
    Expr recurrent = resets_after ? in_order(reshape_to(slice(given, 0, 1, 2), {all}), units, kind.gates, 0)
                                  : filled(0, {all}, in.dtype(x));
    bias = expand_dims(concatenate({own, recurrent}, 0), 0);
  }
  std::vector<Expr> inputs{data, turned(weight(0)), turned(weight(1)), bias, nullptr};
  for (const Expr& state : initial) inputs.push_back(expand_dims(state, 0));
  GivenActivations activations;
  if (kind.gates.size() > 1) activations.add(in, config, "recurrent_activation", "sigmoid");
  activations.add(in, config, "activation", "tanh");
  if (kind.states == 2) activations.add(in, config, "activation", "tanh");
  std::vector<onnx::Given> attributes{{"hidden_size", units}, {"activations", activations.names}};
  if (!activations.alphas.empty()) attributes.emplace_back("activation_alpha", activations.alphas);
  if (!activations.betas.empty()) attributes.emplace_back("activation_beta", activations.betas);
  if (resets_after) attributes.emplace_back("linear_before_reset", 1);
  for (Expr& one : inputs)
    if (one.defined()) typed(one);
  std::vector<Expr> made = onnx::apply_all(in, kind.op, inputs, attributes, kind.states + 1);
  Exprs out{transpose(squeeze(made.at(0), int_array({1})), int_array({1, 0, 2}))};
  for (size_t i = 1; i <= kind.states; ++i) out.push_back(squeeze(made.at(i), int_array({0})));
  return out;
}

Exprs shown(const Fields& config, const Exprs& made) {
  Exprs out{config.flag("return_sequences", false) ? made[0] : made[1]};
  if (config.flag("return_state", false)) out.insert(out.end(), made.begin() + 1, made.end());
  return out;
}

Exprs recurrent(KerasLayer& in) {
  Exprs initial(in.inputs().begin() + 1, in.inputs().end());
  const std::string name = in.node().op == "CuDNNLSTM" ? "LSTM" : in.node().op;
  if (!initial.empty() && initial.size() != kind_of(name).states) in.unsupported("inputs beside data and first states");
  return shown(in.fields(), one_direction(in, name, in.fields(), in[0], initial, 0));
}

Expr reversed_steps(const Expr& x) { return slice(x, 1, -1, INT32_MIN, -1); }

Exprs bidirectional(KerasLayer& in) {
  Fields layer = in.fields().object("layer"), forward = layer.object("config");
  Fields other = in.fields().has("backward_layer") ? in.fields().object("backward_layer") : layer;
  Fields backward(other.object("config").map(), other.owner());
  if (!in.fields().has("backward_layer"))
    backward.set("go_backwards", String(forward.flag("go_backwards", false) ? "0" : "1"));
  const std::string name = layer.text("class_name");
  const size_t weights = forward.flag("use_bias", true) ? 3 : 2, states = kind_of(name).states;
  Exprs first, second;
  if (in.size() == 1 + 2 * states) {
    auto begin = in.inputs().begin() + 1, middle = begin + static_cast<int64_t>(states);
    first.assign(begin, middle), second.assign(middle, in.inputs().end());
  } else if (in.size() != 1) {
    in.unsupported("inputs beside data and first states");
  }
  Exprs a = one_direction(in, name, forward, in[0], first, 0);
  Exprs b = one_direction(in, other.text("class_name"), backward, in[0], second, weights);
  const bool sequences = forward.flag("return_sequences", false);
  Expr x = sequences ? a[0] : a[1], y = sequences ? reversed_steps(b[0]) : b[1];
  Exprs out;
  ObjectRef mode = in.fields().get("merge_mode");
  const std::string how = in.text("merge_mode", in.fields().map().count(String("merge_mode")) ? "" : "concat");
  typed(x);
  if (how.empty()) out = {x, y};
  else if (how == "concat") out = {concatenate({x, y}, static_cast<int>(in.rank(x)) - 1)};
  else if (how == "sum") out = {add(x, y)};
  else if (how == "mul") out = {multiply(x, y)};
  else if (how == "ave") out = {divide(add(x, y), make_scalar(2, in.dtype(x)))};
  else in.unsupported("merge_mode " + how);
  if (forward.flag("return_state", false)) {
    out.insert(out.end(), a.begin() + 1, a.end());
    out.insert(out.end(), b.begin() + 1, b.end());
  }
  return out;
}

}  // namespace

KerasRows recurrent_rows() {
  return {
      {"Bidirectional", bidirectional},
      {"GRU", recurrent},
      {"LSTM", recurrent},
      {"SimpleRNN", recurrent},
  };
}

}  // namespace tessera::keras
