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

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

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

constexpr const char* kWeights = "the weights of a recurrent layer";

}  // namespace

RecurrentNode::RecurrentNode(Operation& in, LayerKind kind)
    : in_(in), kind_(std::move(kind)), dtype_(in.dtype(in[0])), gates_(topi::gates_of(kind_.cell)) {
  for (size_t i = 0; i < 3; ++i)
    if (in.rank(in[i]) != 3) in.invalid("data and weights have three dimensions");
  direction_ = in.text("direction", "forward");
  by_batch_ = in.integer("layout", 0) != 0;
  sum_ = dtype_ == DataType::Float(64) ? dtype_ : DataType::Float(32);
  is_linear_ = kind_.cell == topi::RecurrentCell::GRU && in.integer("linear_before_reset", 0) != 0;
  find_extents(2);
}

void RecurrentNode::find_extents(size_t axis) {
  const std::vector<int64_t> shape = in_.static_shape(in_[2], kWeights);
  directions_ = shape[0], hidden_ = shape[axis];
  blocks_ = topi::ceil_div(hidden_, kBlock);
  if (directions_ != (direction_ == "bidirectional" ? 2 : 1)) in_.invalid("the weights do not fit the direction");
}

Values RecurrentNode::run() {
  Inputs inputs;
  inputs.add("data", projected());
  add_weights(inputs);
  if (in_.has(7)) inputs.add("peepholes", in_blocks(in_[7], 3));
  if (in_.has(5)) inputs.add("initial_h", turned(in_[5]));
  if (in_.has(6)) inputs.add("initial_c", turned(in_[6]));
  if (in_.has(4)) inputs.add("lengths", in_[4]);
  Attrs attrs = make_attrs<RecurrentAttrs>([&](RecurrentAttrs& to) {
    to.cell = kind_.name;
    to.direction = direction_;
    to.inputs = inputs.names;
    for (const topi::RecurrentActivation& one : activations()) {
      to.activations.push_back(String(one.name));
      to.activation_alpha.push_back(float_imm(DataType::Float(64), one.alpha));
      to.activation_beta.push_back(float_imm(DataType::Float(64), one.beta));
    }
    to.clip = in_.number("clip", 0);
    to.linear_before_reset = is_linear_;
    to.input_forget = kind_.cell == topi::RecurrentCell::LSTM && in_.integer("input_forget", 0) != 0;
    if (in_.dtype(in_[2]).is_integral()) to.hidden_size = static_cast<int32_t>(hidden_);
  });
  Expr all = call_op(ops::recurrent, {make_tuple(inputs.tensors)}, attrs);
  Expr outputs = make_get_item(all, 0);
  Values out{Value(by_batch_ ? transpose(outputs, int_array({2, 0, 1, 3})) : outputs)};
  for (int i = 1; i < (kind_.cell == topi::RecurrentCell::LSTM ? 3 : 2); ++i)
    out.push_back(Value(turned(make_get_item(all, i))));
  return out;
}

/// From (directions, batch, hidden) to the node's layout, or back.
Expr RecurrentNode::turned(const Expr& state) const {
  return by_batch_ ? transpose(state, int_array({1, 0, 2})) : state;
}

Expr RecurrentNode::data() const { return by_batch_ ? transpose(in_[0], int_array({1, 0, 2})) : in_[0]; }

Expr RecurrentNode::units_in_blocks(const Expr& x, int64_t parts) const {
  const int64_t k = in_.static_shape(x, kWeights)[2], width = blocks_ * kBlock;
  Expr out = reshape_to(x, {directions_, parts, hidden_, k});
  if (width > hidden_) out = pad_with(out, {0, 0, 0, 0}, {0, 0, width - hidden_, 0}, 0);
  return reshape_to(out, {directions_, parts, blocks_, kBlock, k});
}

Expr RecurrentNode::in_blocks(const Expr& x, int64_t parts) const {
  return squeeze(transpose(units_in_blocks(expand_dims(x, 2), parts), int_array({0, 2, 1, 3, 4})), int_array({4}));
}

Expr RecurrentNode::bias(int half) const {
  return slice(in_[3], 1, half * gates_ * hidden_, (half + 1) * gates_ * hidden_);
}

Expr RecurrentNode::projected() const {
  const int64_t columns = directions_ * blocks_ * gates_ * kBlock;
  Expr weight = transpose(units_in_blocks(in_[1], gates_), int_array({0, 2, 1, 3, 4}));
  weight = reshape_to(weight, {columns, in_.static_shape(in_[1], kWeights)[2]});
  Expr out = call_op(ops::dense, {data(), weight}, make_attrs<DenseAttrs>([&](DenseAttrs& attrs) {
                       if (dtype_ != sum_) attrs.out_dtype = sum_;
                     }));
  if (!in_.has(3)) return out;
  Expr of_state = bias(1);  // of a linear GRU that of the last gate is added inside
  if (is_linear_) of_state = pad_with(slice(of_state, 1, 0, (gates_ - 1) * hidden_), {0, 0}, {0, hidden_}, 0);
  Expr both = cast_if_needed(in_, add(bias(0), of_state), sum_);
  return add(out, reshape_to(in_blocks(both, gates_), {columns}));
}

/// Weights of so many gates, (directions, blocks, hidden, gates, block).
Expr RecurrentNode::recurrence(const Expr& x, int64_t gates) const {
  return transpose(units_in_blocks(x, gates), int_array({0, 2, 4, 1, 3}));
}

void RecurrentNode::add_weights(Inputs& to) const {
  const int64_t last = (gates_ - 1) * hidden_, all = gates_ * hidden_;
  if (in_.static_shape(in_[2], kWeights)[1] != all)
    in_.invalid("the recurrent weights do not have a square for each gate");
  if (kind_.cell == topi::RecurrentCell::GRU && !is_linear_) {
    to.add("weight", recurrence(slice(in_[2], 1, 0, last), gates_ - 1));
    to.add("reset_weight", recurrence(slice(in_[2], 1, last, all), 1));
  } else {
    to.add("weight", recurrence(in_[2], gates_));
  }
  if (in_.has(3) && is_linear_)
    to.add("recurrent_bias", squeeze(in_blocks(slice(bias(1), 1, last, all), 1), int_array({2})));
}

/// Each takes the next of the node's alphas and betas that it needs.
std::vector<topi::RecurrentActivation> RecurrentNode::activations() const {
  const std::vector<std::string> names = in_.texts("activations");
  const std::vector<float> alphas = in_.numbers("activation_alpha"), betas = in_.numbers("activation_beta");
  const std::vector<const char*>& usual = kind_.activations;
  size_t alpha = 0, beta = 0;
  std::vector<topi::RecurrentActivation> out;
  for (size_t i = 0; i < usual.size() * static_cast<size_t>(directions_); ++i) {
    topi::RecurrentActivation one{lower_case(i < names.size() ? names[i] : usual[i % usual.size()])};
    if (!topi::is_recurrent_activation(one.name)) in_.unsupported("the activation " + one.name);
    for (const ActivationNumbers& row : kActivationNumbers) {
      if (one.name != row.name) continue;
      one.alpha = row.takes_alpha && alpha < alphas.size() ? alphas[alpha++] : row.alpha;
      one.beta = row.takes_beta && beta < betas.size() ? betas[beta++] : row.beta;
    }
    out.push_back(one);
  }
  return out;
}

namespace {

Values rnn(Operation& in) { return RecurrentNode(in, {topi::RecurrentCell::RNN, "rnn", {"Tanh"}}).run(); }
Values gru(Operation& in) { return RecurrentNode(in, {topi::RecurrentCell::GRU, "gru", {"Sigmoid", "Tanh"}}).run(); }
Values lstm(Operation& in) {
  return RecurrentNode(in, {topi::RecurrentCell::LSTM, "lstm", {"Sigmoid", "Tanh", "Tanh"}}).run();
}

}  // namespace

Rows recurrent_rows() {
  return {
      {"DynamicQuantizeLSTM", 1, dynamic_quantize_lstm, kMicrosoftDomain},
      {"GRU", 1, gru},
      {"LSTM", 1, lstm},
      {"RNN", 1, rnn},
  };
}

}  // namespace tessera::onnx
