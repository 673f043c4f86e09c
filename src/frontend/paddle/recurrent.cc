// LSTM, GRU and plain recurrent layers, several of them one behind the other.

#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/paddle/paddle.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/type/type_of.h"

namespace tessera::paddle {
namespace {

using namespace relay;  // NOLINT: makers of calls

struct Mode {
  const char* op;
  std::vector<int> gates;  // of Paddle, in ONNX's order
  size_t states;
  const char* activation;  // null: the usual ones
};

const Mode& mode_of(const LayerNode& in) {
  static const std::unordered_map<std::string, Mode> modes{{"LSTM", {"LSTM", {0, 3, 1, 2}, 2, nullptr}},
                                                           {"GRU", {"GRU", {1, 0, 2}, 1, nullptr}},
                                                           {"RNN_TANH", {"RNN", {0}, 1, "Tanh"}},
                                                           {"RNN_RELU", {"RNN", {0}, 1, "Relu"}}};
  auto found = modes.find(in.text("mode"));
  if (found == modes.end()) in.unsupported("the mode " + in.text("mode"));
  return found->second;
}

Expr concatenated_rows(const Array<Expr>& parts) { return parts.size() == 1 ? parts[0] : typed(concatenate(parts, 0)); }

/// The rows of a weight or bias by gates in another order, as (1, gates * hidden, ...).
Expr in_order(const Expr& rows, const Mode& mode, int64_t hidden) {
  Array<Expr> parts;
  for (int gate : mode.gates) parts.push_back(slice(rows, 0, gate * hidden, (gate + 1) * hidden));
  return typed(expand_dims(mode.gates.size() == 1 ? rows : concatenated_rows(parts), 0));
}

/// Weights are those of the data and of the state for each layer and direction; their biases follow, in the same order.
Exprs rnn(LayerNode& in) {
  const Mode& mode = mode_of(in);
  const int64_t hidden = in.integer("hidden_size"), layers = in.integer("num_layers", 1);
  const int64_t directions = in.flag("is_bidirec") ? 2 : 1;
  constexpr int64_t kMaxLayers = 1000, kMaxHidden = 1 << 20;
  if (hidden < 1 || layers < 1 || layers > kMaxLayers || hidden > kMaxHidden) in.invalid("its numbers make no layers");
  Exprs weights = in.slots("WeightList"), first = in.slots("PreState");
  const auto half = static_cast<size_t>(layers * directions * 2);
  if (weights.size() != 2 * half && weights.size() != half) in.invalid("it has not as many weights as its layers need");
  if (first.size() != mode.states) in.invalid("it has not as many states as its mode");
  const int64_t rows = hidden * static_cast<int64_t>(mode.gates.size());
  for (const Expr& weight : weights)
    if (in.static_shape(weight, "a weight")[0] != rows) in.invalid("a weight has not as many rows as the gates need");
  Expr x = in.slot("Input"), lengths = in.has_slot("SequenceLength") ? in.slot("SequenceLength") : Expr();
  if (lengths.defined()) lengths = cast_if_needed(in, lengths, DataType::Int(32));
  std::vector<Array<Expr>> states(mode.states);
  for (int64_t layer = 0; layer < layers; ++layer) {
    Array<Expr> of_data, of_state, biases;
    for (int64_t way = 0; way < directions; ++way) {
      const auto at = static_cast<size_t>((layer * directions + way) * 2);
      of_data.push_back(in_order(weights[at], mode, hidden));
      of_state.push_back(in_order(weights[at + 1], mode, hidden));
      if (weights.size() == half) continue;
      biases.push_back(typed(concatenate(
          {in_order(weights[half + at], mode, hidden), in_order(weights[half + at + 1], mode, hidden)}, 1)));
    }
    std::vector<Expr> inputs{x, concatenated_rows(of_data), concatenated_rows(of_state),
                             biases.empty() ? Expr() : concatenated_rows(biases), lengths};
    for (const Expr& state : first)
      inputs.push_back(typed(slice(state, 0, layer * directions, (layer + 1) * directions)));
    std::vector<onnx::Given> attributes{{"hidden_size", hidden},
                                        {"direction", directions == 2 ? "bidirectional" : "forward"}};
    if (mode.activation)
      attributes.emplace_back("activations",
                              std::vector<std::string>(static_cast<size_t>(directions), mode.activation));
    if (mode.gates.size() == 3) attributes.emplace_back("linear_before_reset", 1);
    std::vector<Expr> made = onnx::apply_all(in, mode.op, inputs, attributes, mode.states + 1);
    // (steps, directions, batch, hidden): the directions beside each other
    Expr turned = typed(transpose(made.at(0), int_array({0, 2, 1, 3})));
    x = typed(
        call_op("reshape", {turned}, make_attrs<ReshapeAttrs>([&](auto& to) { to.newshape = int_array({0, 0, -1}); })));
    for (size_t i = 0; i < mode.states; ++i) states[i].push_back(typed(made.at(i + 1)));
  }
  Exprs last;
  for (const Array<Expr>& one : states) last.push_back(concatenated_rows(one));
  return in.results({{"Out", {x}}, {"State", last}});
}

}  // namespace

LayerRows recurrent_rows() { return {{"rnn", rnn}}; }

}  // namespace tessera::paddle
