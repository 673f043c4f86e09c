// Recurrent layers: RNN, GRU, LSTM. What does not depend on the state is one matmul for all steps; the rest is nn.recurrent.

#include "frontend/onnx/nn/recurrent.h"

#include <algorithm>

#include "frontend/common/parts.h"
#include "ir/prim/ops.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/recurrent.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "topi/cpu/recurrent.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Units that lie together: as many as the longest vectors have lanes.
constexpr int64_t kUnitBlock = 16;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// What an activation has where the node says nothing, and whether it takes numbers at all.
struct ActivationNumbers {
  const char* name;
  bool takes_alpha, takes_beta;
  double alpha, beta;
};
constexpr ActivationNumbers kActivationNumbers[] = {
    {"affine", true, true, 1, 0},        {"elu", true, false, 1, 0},       {"hardsigmoid", true, true, 0.2, 0.5},
    {"leakyrelu", true, false, 0.01, 0}, {"scaledtanh", true, true, 1, 1}, {"thresholdedrelu", true, false, 1, 0},
};

struct LayerKind {
  topi::RecurrentCell cell;
  const char* name;
  std::vector<const char*> activations;  // where the node says none
};

/// A layer of float weights: ONNX's tensors laid out as nn.recurrent takes them.
class RecurrentNode {
 public:
  RecurrentNode(Operation& in, LayerKind kind) : in_(in), kind_(std::move(kind)), dtype_(in.dtype(in[0])) {
    for (size_t i = 0; i < 3; ++i)
      if (in.rank(in[i]) != 3) in.invalid("data and weights have three dimensions");
    const std::vector<int64_t> shape = in.static_shape(in[2], "the weights of a recurrent layer");
    directions_ = shape[0], hidden_ = shape[2], gates_ = topi::gates_of(kind_.cell);
    blocks_ = topi::ceil_div(hidden_, kUnitBlock);
    direction_ = in.text("direction", "forward");
    if (directions_ != (direction_ == "bidirectional" ? 2 : 1)) in.invalid("the weights do not fit the direction");
    if (shape[1] != gates_ * hidden_) in.invalid("the recurrent weights do not have a square for each gate");
    by_batch_ = in.integer("layout", 0) != 0;
    sum_ = dtype_ == DataType::Float(64) ? dtype_ : DataType::Float(32);
    is_linear_ = kind_.cell == topi::RecurrentCell::GRU && in.integer("linear_before_reset", 0) != 0;
  }

  Values run() {
    Array<Expr> inputs{projected()};
    Array<String> names{"data"};
    auto add = [&](const char* name, const Expr& value) {
      names.push_back(name);
      inputs.push_back(value);
    };
    if (kind_.cell == topi::RecurrentCell::GRU && !is_linear_) {
      const int64_t last = (gates_ - 1) * hidden_;
      add("weight", recurrence(slice(in_[2], 1, 0, last), gates_ - 1));
      add("reset_weight", recurrence(slice(in_[2], 1, last, gates_ * hidden_), 1));
    } else {
      add("weight", recurrence(in_[2], gates_));
    }
    if (in_.has(3) && is_linear_) add("recurrent_bias", squeeze(in_blocks(bias(1, 2), 1), int_array({2})));
    if (in_.has(7)) add("peepholes", in_blocks(in_[7], 3));
    if (in_.has(5)) add("initial_h", initial(5));
    if (in_.has(6)) add("initial_c", initial(6));
    if (in_.has(4)) add("lengths", in_[4]);
    Attrs attrs = make_attrs<RecurrentAttrs>([&](RecurrentAttrs& to) {
      to.cell = kind_.name;
      to.direction = direction_;
      to.inputs = names;
      for (const CellActivation& one : cell_activations(in_, kind_.activations, directions_)) {
        to.activations.push_back(String(one.name));
        to.activation_alpha.push_back(float_imm(DataType::Float(64), one.alpha));
        to.activation_beta.push_back(float_imm(DataType::Float(64), one.beta));
      }
      to.clip = in_.number("clip", 0);
      to.linear_before_reset = is_linear_;
      to.input_forget = kind_.cell == topi::RecurrentCell::LSTM && in_.integer("input_forget", 0) != 0;
    });
    Expr all = call_op(ops::recurrent, {make_tuple(inputs)}, attrs);
    Expr outputs = make_get_item(all, 0);
    Values out{Value(by_batch_ ? transpose(outputs, int_array({2, 0, 1, 3})) : outputs)};
    for (int i = 1; i < (kind_.cell == topi::RecurrentCell::LSTM ? 3 : 2); ++i)
      out.push_back(Value(turned(make_get_item(all, i))));
    return out;
  }

 private:
  /// From (directions, batch, hidden) to the node's layout, or back.
  Expr turned(const Expr& state) const { return by_batch_ ? transpose(state, int_array({1, 0, 2})) : state; }
  Expr initial(size_t input) const { return turned(in_[input]); }

  /// (directions, parts * hidden, k) to (directions, parts, blocks, block, k), with zeros behind the last unit.
  Expr units_in_blocks(const Expr& x, int64_t parts) const {
    const int64_t k = in_.static_shape(x, "the weights of a recurrent layer")[2], width = blocks_ * kUnitBlock;
    Expr out = reshape_to(x, {directions_, parts, hidden_, k});
    if (width > hidden_) out = pad_with(out, {0, 0, 0, 0}, {0, 0, width - hidden_, 0}, 0);
    return reshape_to(out, {directions_, parts, blocks_, kUnitBlock, k});
  }
  /// Of so many gates, as nn.recurrent takes them.
  Expr recurrence(const Expr& x, int64_t gates) const {
    return transpose(units_in_blocks(x, gates), int_array({0, 2, 4, 1, 3}));
  }
  /// (directions, parts * hidden) to (directions, blocks, parts, block).
  Expr in_blocks(const Expr& x, int64_t parts) const {
    return squeeze(transpose(units_in_blocks(expand_dims(x, 2), parts), int_array({0, 2, 1, 3, 4})), int_array({4}));
  }

  /// The half of the biases that is added to the data (0) or to the state (1); of the state's the last gate's, or all others with a
  /// zero there.
  Expr bias(int half, int part = 0) const {
    Expr out = slice(in_[3], 1, half * gates_ * hidden_, (half + 1) * gates_ * hidden_);
    const int64_t last = (gates_ - 1) * hidden_;
    if (part == 2) return slice(out, 1, last, gates_ * hidden_);
    return part == 0 ? out : pad_with(slice(out, 1, 0, last), {0, 0}, {0, hidden_}, 0);
  }

  /// What all gates get from the data, for all steps, with the biases that can be added before.
  Expr projected() const {
    const int64_t columns = directions_ * blocks_ * gates_ * kUnitBlock;
    Expr data = by_batch_ ? transpose(in_[0], int_array({1, 0, 2})) : in_[0];
    Expr weight = transpose(units_in_blocks(in_[1], gates_), int_array({0, 2, 1, 3, 4}));
    weight = reshape_to(weight, {columns, in_.static_shape(in_[1], "the weights of a recurrent layer")[2]});
    Expr out = call_op(ops::dense, {data, weight}, make_attrs<DenseAttrs>([&](DenseAttrs& attrs) {
                         if (dtype_ != sum_) attrs.out_dtype = sum_;
                       }));
    if (!in_.has(3)) return out;
    Expr both = cast_if_needed(in_, add(bias(0), bias(1, is_linear_ ? 1 : 0)), sum_);
    return add(out, reshape_to(in_blocks(both, gates_), {columns}));
  }

  Operation& in_;
  LayerKind kind_;
  DataType dtype_, sum_;
  int64_t directions_ = 1, hidden_ = 0, gates_ = 1, blocks_ = 1;
  bool by_batch_ = false, is_linear_ = false;
  std::string direction_;
};

Values rnn(Operation& in) { return RecurrentNode(in, {topi::RecurrentCell::RNN, "rnn", {"Tanh"}}).run(); }
Values gru(Operation& in) { return RecurrentNode(in, {topi::RecurrentCell::GRU, "gru", {"Sigmoid", "Tanh"}}).run(); }
Values lstm(Operation& in) {
  return RecurrentNode(in, {topi::RecurrentCell::LSTM, "lstm", {"Sigmoid", "Tanh", "Tanh"}}).run();
}

}  // namespace

std::vector<CellActivation> cell_activations(Operation& in, const std::vector<const char*>& otherwise,
                                             int64_t directions) {
  const std::vector<std::string> names = in.texts("activations");
  const std::vector<float> alphas = in.numbers("activation_alpha"), betas = in.numbers("activation_beta");
  size_t alpha = 0, beta = 0;
  std::vector<CellActivation> out;
  for (size_t i = 0; i < otherwise.size() * static_cast<size_t>(directions); ++i) {
    CellActivation one{lower_case(i < names.size() ? names[i] : otherwise[i % otherwise.size()])};
    if (!topi::is_recurrent_activation(one.name)) in.unsupported("the activation " + one.name);
    for (const ActivationNumbers& row : kActivationNumbers) {
      if (one.name != row.name) continue;
      one.alpha = row.takes_alpha && alpha < alphas.size() ? alphas[alpha++] : row.alpha;
      one.beta = row.takes_beta && beta < betas.size() ? betas[beta++] : row.beta;
    }
    out.push_back(one);
  }
  return out;
}

Rows recurrent_rows() {
  return {
      {"DynamicQuantizeLSTM", 1, dynamic_quantize_lstm, kMicrosoftDomain},
      {"GRU", 1, gru},
      {"LSTM", 1, lstm},
      {"RNN", 1, rnn},
  };
}

}  // namespace tessera::onnx
