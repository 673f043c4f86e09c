// Recurrent layers. Steps are written out; states begin as the file's variables do, and end with the run.

#include "frontend/common/parts.h"
#include "frontend/tflite/importer.h"
#include "frontend/tflite/quantize.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tflite {
namespace {

using namespace relay;  // NOLINT: makers of calls

constexpr int64_t kMaxSteps = 4096;

Expr dense_of(const Expr& x, const Expr& weight) {
  return call_op("nn.dense", {x, weight}, make_attrs<DenseAttrs>([](auto&) {}));
}

/// (batch, steps, size) or, with `is_time_major`, (steps, batch, size) as one matrix a step.
std::vector<Expr> steps_of(Node& in, const Expr& x, bool is_time_major) {
  Ints shape = in.static_shape(x, "the data of a recurrent layer");
  if (shape.size() != 3) in.invalid("the data has three dimensions");
  const int axis = is_time_major ? 0 : 1;
  const int64_t count = shape[static_cast<size_t>(axis)];
  if (count < 1 || count > kMaxSteps) in.unsupported(std::to_string(count) + " steps");
  if (count == 1) return {squeeze(x, int_array({axis}))};
  Expr parts = split(x, static_cast<int>(count), axis);
  std::vector<Expr> out;
  for (int i = 0; i < count; ++i) out.push_back(squeeze(make_get_item(parts, i), int_array({axis})));
  return out;
}

Expr stacked(const std::vector<Expr>& steps, bool is_time_major) {
  Array<Expr> all(steps.begin(), steps.end());
  return stack(all, is_time_major ? 0 : 1);
}

/// Where the tensors of an LSTM stand among the inputs.
struct LstmInputs {
  size_t input, recurrent, peephole, bias, projection, state, norm;
};

class Lstm {
 public:
  Lstm(Node& in, const LstmInputs& at) : in_(in), at_(at), has_input_gate_(in.has(at.input)) {
    if (in.flag("diagonal_recurrent")) in.unsupported("diagonal recurrent weights");
    for (size_t gate = 0; gate < 4; ++gate) {
      if (gate == 0 && !has_input_gate_) continue;
      weights_[gate] = floats(in, at.input + gate);
      recurrent_[gate] = floats(in, at.recurrent + gate);
    }
    for (size_t i = 0; i < 3; ++i)
      if (in.has(at.peephole + i)) peephole_[i] = floats(in, at.peephole + i);
    for (size_t i = 0; i < 4; ++i) {
      if (in.has(at.bias + i)) bias_[i] = floats(in, at.bias + i);
      if (at.norm && in.has(at.norm + i)) norm_[i] = floats(in, at.norm + i);
    }
  }

  std::vector<Expr> run(std::vector<Expr> steps, bool is_reversed) {
    if (is_reversed) std::reverse(steps.begin(), steps.end());
    Expr output = floats(in_, at_.state), cell = floats(in_, at_.state + 1);
    std::vector<Expr> out;
    for (const Expr& x : steps) {
      Expr forget = sigmoid(gate(1, x, output, cell, 1));
      Expr input = has_input_gate_ ? sigmoid(gate(0, x, output, cell, 0)) : subtract(number(1), forget);
      Expr now = in_activation(gate(2, x, output, cell, -1));
      cell = add(multiply(forget, cell), multiply(input, now));
      if (double limit = in_.number("cell_clip", 0); limit > 0) cell = clip(cell, -limit, limit);
      output = multiply(sigmoid(gate(3, x, output, cell, 2)), in_activation(cell));
      if (at_.projection && in_.has(at_.projection)) {
        output = dense_of(output, floats(in_, at_.projection));
        if (in_.has(at_.projection + 1)) output = add(output, floats(in_, at_.projection + 1));
        if (double limit = in_.number("proj_clip", 0); limit > 0) output = clip(output, -limit, limit);
      }
      out.push_back(output);
    }
    if (is_reversed) std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  static Expr number(double value) { return make_scalar(value, DataType::Float(32)); }
  Expr in_activation(const Expr& x) { return activated(in_, x, in_.integer("activation", 4)); }

  Expr gate(size_t which, const Expr& x, const Expr& output, const Expr& cell, int peephole) {
    Expr sums = add(dense_of(x, weights_[which]), dense_of(output, recurrent_[which]));
    if (peephole >= 0 && peephole_[peephole].defined()) sums = add(sums, multiply(cell, peephole_[peephole]));
    if (norm_[which].defined()) {  // of layers that are normalized the bias is added afterwards
      Expr centred = subtract(sums, mean(sums, int_array({-1}), true));
      Expr variance = mean(multiply(centred, centred), int_array({-1}), true);
      sums = multiply(divide(centred, sqrt(add(variance, number(1e-8)))), norm_[which]);
    }
    return bias_[which].defined() ? add(sums, bias_[which]) : sums;
  }

  Node& in_;
  LstmInputs at_;
  bool has_input_gate_;
  Expr weights_[4], recurrent_[4], peephole_[3], bias_[4], norm_[4];
};

Values finished(Node& in, size_t i, const Expr& x) {
  return {quantized(in, x, in.quantized_output(i), in.output_type(i))};
}

Values unidirectional_lstm(Node& in) {
  const bool is_time_major = in.flag("time_major");
  Lstm layer(in, {1, 5, 9, 12, 16, 18, 20});
  return finished(in, 0, stacked(layer.run(steps_of(in, floats(in, 0), is_time_major), false), is_time_major));
}

Values bidirectional_lstm(Node& in) {
  const bool is_time_major = in.flag("time_major", true);
  if (in.has(39)) in.unsupported("an auxiliary input");
  std::vector<Expr> steps = steps_of(in, floats(in, 0), is_time_major);
  Lstm forward(in, {1, 5, 9, 12, 16, 35, 0}), backward(in, {18, 22, 26, 29, 33, 37, 0});
  Expr there = stacked(forward.run(steps, false), is_time_major),
       back = stacked(backward.run(steps, true), is_time_major);
  if (in.flag("merge_outputs")) return finished(in, 0, concatenate({there, back}, 2));
  return {finished(in, 0, there)[0], finished(in, 1, back)[0]};
}

/// state = activation(x . weights + state . recurrent + bias)
Values rnn(Node& in, bool has_steps) {
  const bool is_time_major = in.flag("time_major");
  Expr weights = floats(in, 1), recurrent = floats(in, 2), bias = floats(in, 3), state = floats(in, 4);
  std::vector<Expr> steps = has_steps ? steps_of(in, floats(in, 0), is_time_major) : std::vector<Expr>{floats(in, 0)},
                    out;
  for (const Expr& x : steps) {
    state =
        activated(in, add(add(dense_of(x, weights), dense_of(state, recurrent)), bias), in.integer("activation", 0));
    out.push_back(state);
  }
  return finished(in, 0, has_steps ? stacked(out, is_time_major) : out[0]);
}

}  // namespace

Rows recurrent_rows() {
  constexpr Quantized kItself = Quantized::ByItself;
  return {
      {52, "BIDIRECTIONAL_SEQUENCE_LSTM", kItself, bidirectional_lstm},
      {24, "RNN", kItself, [](Node& in) { return rnn(in, false); }},
      {44, "UNIDIRECTIONAL_SEQUENCE_LSTM", kItself, unidirectional_lstm},
      {35, "UNIDIRECTIONAL_SEQUENCE_RNN", kItself, [](Node& in) { return rnn(in, true); }},
  };
}

}  // namespace tessera::tflite
