// Recurrent layers and cells. torch stores gates in another order than nn.recurrent's converter takes them.

#include "frontend/common/loops.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/apply.h"
#include "frontend/torch/packed.h"
#include "frontend/torch/promote.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::torch {
namespace {

using namespace relay;  // NOLINT: makers of calls

struct CellKind {
  const char* op;          // of ONNX
  std::vector<int> gates;  // torch's gate for each of ONNX's
  const char* activation = nullptr;
};
const CellKind kLstm{"LSTM", {0, 3, 1, 2}}, kGru{"GRU", {1, 0, 2}}, kTanh{"RNN", {0}, "Tanh"},
    kRelu{"RNN", {0}, "Relu"};

/// Gates along the first axis in ONNX's order, with a dimension for the direction.
Expr in_order(const Operation& in, const Expr& x, const CellKind& kind) {
  const auto gates = static_cast<int64_t>(kind.gates.size());
  const int64_t hidden = in.static_shape(x, "the weights of a recurrent layer")[0] / gates;
  Array<Expr> parts;
  for (int gate : kind.gates) parts.push_back(slice(x, 0, gate * hidden, (gate + 1) * hidden));
  return expand_dims(parts.size() == 1 ? parts[0] : concatenate(parts, 0), 0);
}

Expr by_rows(const Operation& in, const Expr& x, const Expr& weight) {
  return call_op("nn.dense", {x, weight},
                 make_attrs<DenseAttrs>([&](auto& attrs) { attrs.units = in.shape(weight)[0]; }));
}

/// One direction of an LSTM whose hidden state is projected, one step after another: x is (steps, batch, size). The outputs of all
/// steps, the last output and the last cell.
std::vector<Expr> projected_lstm(const Operation& in, const Expr& x, const std::vector<Expr>& params, Expr state,
                                 Expr cell, bool is_reversed) {
  auto step = [&](const Expr& now) {
    Expr sums = add(by_rows(in, now, params[0]), by_rows(in, state, params[1]));
    if (params.size() == 5) sums = add(sums, add(params[2], params[3]));
    Expr gates = split(sums, 4, 1);
    auto gate = [&](int which) { return make_get_item(gates, which); };
    cell = add(multiply(sigmoid(gate(1)), cell), multiply(sigmoid(gate(0)), tanh(gate(2))));
    state = by_rows(in, multiply(sigmoid(gate(3)), tanh(cell)), params.back());
  };
  const int64_t* steps = as_int(in.shape(x)[0]);
  if (!steps) {
    const DataType number = DataType::Int(64);
    Expr count = extent_at_run_time(in, x, 0), last = subtract(count, make_scalar(1, number));
    const std::unordered_set<const Object*> outside{x.get(), count.get(), last.get()};
    LoopBody body = [&](const Expr& index, const Expr&, const std::vector<Expr>& states) {
      state = states[0], cell = states[1];
      step(take(x, is_reversed ? subtract(last, index) : index, 0));
      return LoopStep{Expr(), {state, cell}, {state}};
    };
    std::vector<Expr> out = recursive_loop(in, count, Expr(), {state, cell}, body, 1, outside);
    if (is_reversed) {
      auto flip = make_attrs<ReverseAttrs>([](auto& attrs) { attrs.axis = PrimExpr(0); });
      out[2] = call_op("reverse", {out[2]}, flip);
    }
    return {out[2], out[0], out[1]};
  }
  std::vector<Expr> outputs(static_cast<size_t>(*steps));
  for (int64_t i = 0; i < *steps; ++i) {
    const int64_t at = is_reversed ? *steps - 1 - i : i;
    step(squeeze(slice(x, 0, at, at + 1), int_array({0})));
    outputs[static_cast<size_t>(at)] = state;
  }
  return {stack(Array<Expr>(outputs.begin(), outputs.end()), 0), state, cell};
}

/// The weights of one layer in both directions.
struct LayerWeights {
  Expr input, state, bias;
};
LayerWeights layer_weights(const Operation& in, const std::vector<Expr>& params, size_t first, size_t directions,
                           bool has_biases, const CellKind& kind) {
  Array<Expr> inputs, states, biases;
  for (size_t d = 0; d < directions; ++d) {
    const size_t at = first + d * (has_biases ? 4 : 2);
    inputs.push_back(in_order(in, params.at(at), kind));
    states.push_back(in_order(in, params.at(at + 1), kind));
    if (has_biases)
      biases.push_back(concatenate({in_order(in, params.at(at + 2), kind), in_order(in, params.at(at + 3), kind)}, 1));
  }
  auto all = [](const Array<Expr>& parts) { return parts.size() == 1 ? parts[0] : concatenate(parts, 0); };
  return {all(inputs), all(states), has_biases ? all(biases) : Expr()};
}

Values recurrent_layers(Operation& in, const CellKind& kind) {
  const bool is_lstm = &kind == &kLstm, has_biases = in.flag("has_biases", true),
             two_ways = in.flag("bidirectional", false);
  if (in.flag("train", false) && in.number("dropout", 0) > 0)
    in.unsupported("dropout in training mode; call model.eval() first");
  const auto layers = static_cast<size_t>(in.integer("num_layers", 1));
  const size_t directions = two_ways ? 2 : 1;
  const bool by_batch = in.flag("batch_first", false);
  const bool is_packed = in.has("batch_sizes");
  Expr lengths = is_packed ? lengths_of(in, in.value("batch_sizes")) : Expr();
  Expr x = is_packed ? padded_steps(in, in.value(0), in.value("batch_sizes")) : in[0];
  const bool has_batch = in.rank(x) == 3;
  std::vector<Expr> params = in.tensors("params"), initial;
  if (is_lstm) initial = in.tensors("hx");
  else initial = {in["hx"]};
  if (!has_batch) {
    x = expand_dims(x, 1);
    for (Expr& state : initial) state = in.rank(state) == 2 ? expand_dims(state, 1) : state;
  } else if (by_batch) {
    x = transpose(x, int_array({1, 0, 2}));
  }
  const size_t per_layer = directions * (has_biases ? 4 : 2);
  const bool projects = params.size() == layers * directions * (has_biases ? 5 : 3);
  if (projects && is_packed) in.unsupported("projections of packed sequences");
  if (params.size() != layers * per_layer && !projects) in.invalid("there are not as many weights as the layers need");
  std::vector<Array<Expr>> last(is_lstm ? 2 : 1);
  for (size_t layer = 0; layer < layers; ++layer) {
    if (projects) {
      Array<Expr> both;
      for (size_t d = 0; d < directions; ++d) {
        const auto at = static_cast<int64_t>(layer * directions + d);
        auto first = params.begin() + at * (has_biases ? 5 : 3);
        auto of_layer = [&](const Expr& all) { return squeeze(slice(all, 0, at, at + 1), int_array({0})); };
        std::vector<Expr> out = projected_lstm(in, x, {first, first + (has_biases ? 5 : 3)}, of_layer(initial.at(0)),
                                               of_layer(initial.at(1)), d == 1);
        both.push_back(out[0]);
        for (size_t i = 0; i < 2; ++i) last[i].push_back(expand_dims(out[i + 1], 0));
      }
      x = both.size() == 1 ? both[0] : concatenate(both, 2);
      continue;
    }
    LayerWeights weights = layer_weights(in, params, layer * per_layer, directions, has_biases, kind);
    std::vector<Expr> inputs{x, weights.input, weights.state, weights.bias,
                             is_packed ? cast(lengths, DataType::Int(32)) : Expr()};
    const auto begin = static_cast<int64_t>(layer * directions), end = begin + static_cast<int64_t>(directions);
    for (const Expr& state : initial) inputs.push_back(slice(state, 0, begin, end));
    std::vector<onnx::Given> attributes{{"direction", two_ways ? "bidirectional" : "forward"},
                                        {"linear_before_reset", &kind == &kGru}};
    if (kind.activation) attributes.emplace_back("activations", std::vector<std::string>(directions, kind.activation));
    std::vector<Expr> out = onnx::apply_all(in, kind.op, inputs, attributes, is_lstm ? 3 : 2);
    for (size_t i = 0; i + 1 < out.size(); ++i) last[i].push_back(out[i + 1]);
    // (steps, directions, batch, hidden) -> (steps, batch, directions * hidden)
    x = directions == 1 ? squeeze(out[0], int_array({1}))
                        : reshape(transpose(out[0], int_array({0, 2, 1, 3})), int_array({0, 0, -3}));
  }
  if (!has_batch) x = squeeze(x, int_array({1}));
  else if (by_batch) x = transpose(x, int_array({1, 0, 2}));
  Values out{is_packed ? packed_value(in, x, lengths) : Value(x)};
  for (const Array<Expr>& states : last) {
    Expr all = states.size() == 1 ? states[0] : concatenate(states, 0);
    out.push_back(Value(has_batch ? all : squeeze(all, int_array({1}))));
  }
  return out;
}

Converter layers_of(const CellKind& kind) {
  return [&kind](Operation& in) { return recurrent_layers(in, kind); };
}

/// One step.
Converter cell_of(const CellKind& kind) {
  return [&kind](Operation& in) {
    const bool is_lstm = &kind == &kLstm;
    Expr x = in[0];
    const bool has_batch = in.rank(x) == 2;
    std::vector<Expr> states = is_lstm ? in.tensors("hx") : std::vector<Expr>{in["hx"]};
    Expr bias;
    if (in.has("b_ih")) bias = concatenate({in_order(in, in["b_ih"], kind), in_order(in, in["b_hh"], kind)}, 1);
    auto with_step = [&](const Expr& part) { return expand_dims(has_batch ? part : expand_dims(part, 0), 0); };
    std::vector<Expr> inputs{with_step(x), in_order(in, in["w_ih"], kind), in_order(in, in["w_hh"], kind), bias,
                             Expr()};
    for (const Expr& state : states) inputs.push_back(with_step(state));
    std::vector<onnx::Given> attributes{{"linear_before_reset", &kind == &kGru}};
    if (kind.activation) attributes.emplace_back("activations", std::vector<std::string>{kind.activation});
    std::vector<Expr> out = onnx::apply_all(in, kind.op, inputs, attributes, is_lstm ? 3 : 2);
    Values values;
    for (size_t i = 1; i < out.size(); ++i)
      values.push_back(Value(squeeze(out[i], has_batch ? int_array({0}) : int_array({0, 1}))));
    return values;
  };
}

}  // namespace

Rows recurrent_rows() {
  return {
      {"aten::gru", layers_of(kGru)},       {"aten::gru_cell", cell_of(kGru)},
      {"aten::lstm", layers_of(kLstm)},     {"aten::lstm_cell", cell_of(kLstm)},
      {"aten::rnn_relu", layers_of(kRelu)}, {"aten::rnn_relu_cell", cell_of(kRelu)},
      {"aten::rnn_tanh", layers_of(kTanh)}, {"aten::rnn_tanh_cell", cell_of(kTanh)},
  };
}

}  // namespace tessera::torch
