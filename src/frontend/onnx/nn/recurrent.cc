// Recurrent layers: RNN, GRU, LSTM, and com.microsoft's LSTM with int8 weights. What does not depend on the state is computed
// for all steps at once; the rest is a loop over the steps.

#include "frontend/common/integer_contractions.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/quantized.h"
#include "frontend/onnx/tensor_ops/loops.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/nn.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

#include <algorithm>
#include <tuple>

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

using Activation = std::function<Expr(const Expr&)>;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Activations of the node in their order; each takes the next of the alphas and betas that it needs.
class Activations {
 public:
  Activations(Operation& in, DataType dtype)
      : in_(in),
        dtype_(dtype),
        names_(in.texts("activations")),
        alphas_(in.numbers("activation_alpha")),
        betas_(in.numbers("activation_beta")) {}

  Activation next(const char* otherwise) {
    std::string name = lower(at_ < names_.size() ? names_[at_] : otherwise);
    ++at_;
    DataType dtype = dtype_;
    auto number = [dtype](double value) { return make_scalar(value, dtype); };
    if (name == "tanh") return [](const Expr& x) { return tanh(x); };
    if (name == "sigmoid") return [](const Expr& x) { return sigmoid(x); };
    if (name == "relu") return [=](const Expr& x) { return maximum(x, number(0)); };
    if (name == "softsign") return [=](const Expr& x) { return divide(x, add(number(1), call_op("abs", {x}))); };
    if (name == "softplus")
      return [=](const Expr& x) {
        return add(maximum(x, number(0)), log(add(number(1), exp(negative(call_op("abs", {x}))))));
      };
    if (name == "affine") {
      double a = alpha(1), b = beta(0);
      return [=](const Expr& x) { return add(multiply(x, number(a)), number(b)); };
    }
    if (name == "leakyrelu") {
      double a = alpha(0.01);
      return [=](const Expr& x) { return where(less(x, number(0)), multiply(x, number(a)), x); };
    }
    if (name == "thresholdedrelu") {
      double a = alpha(1);
      return [=](const Expr& x) { return where(call_op("greater_equal", {x, number(a)}), x, number(0)); };
    }
    if (name == "scaledtanh") {
      double a = alpha(1), b = beta(1);
      return [=](const Expr& x) { return multiply(number(a), tanh(multiply(number(b), x))); };
    }
    if (name == "hardsigmoid") {
      double a = alpha(0.2), b = beta(0.5);
      return [=](const Expr& x) { return clip(add(multiply(x, number(a)), number(b)), 0, 1); };
    }
    if (name == "elu") {
      double a = alpha(1);
      return [=](const Expr& x) {
        return where(less(x, number(0)), multiply(number(a), subtract(exp(minimum(x, number(0))), number(1))), x);
      };
    }
    in_.unsupported("the activation " + name);
  }

 private:
  double alpha(double otherwise) { return alpha_ < alphas_.size() ? alphas_[alpha_++] : otherwise; }
  double beta(double otherwise) { return beta_ < betas_.size() ? betas_[beta_++] : otherwise; }

  Operation& in_;
  DataType dtype_;
  std::vector<std::string> names_;
  std::vector<float> alphas_, betas_;
  size_t at_ = 0, alpha_ = 0, beta_ = 0;
};

Expr dense(const Expr& x, const Expr& weight) {
  return call_op("nn.dense", {x, weight}, make_attrs<DenseAttrs>([](auto&) {}));
}

/// Something times the transposed weights of all gates.
using Matmul = std::function<Expr(const Expr&)>;

/// One direction of a layer: its weights, without the dimension of directions.
struct Direction {
  Matmul project, recur;                   // by the weights of the data and by those of the state
  Expr bias, recurrent_bias, peepholes;    // (gates * hidden); may be empty
  Expr first_recurrence, last_recurrence;  // of all gates but the last, and of the last; empty where they are quantised
  std::vector<Activation> activations;
};

/// What a layer computes in one step from (data projected, states); the first state is the output.
using Cell = std::function<Values(const Direction&, const Expr& projected, const Values& states)>;

/// How weights lie in the inputs 1 and 2: floats (gates * hidden, k), or integers (k, gates * hidden) with scales and zero
/// points behind the other inputs.
enum class Weights { Float, Integer };

/// The extents of the recurrent weights: directions and hidden.
std::pair<int64_t, int64_t> layer_extents(Operation& in, Weights weights) {
  std::vector<int64_t> shape = in.static_shape(in[2], "the weights of a recurrent layer");
  if (shape.size() != 3) in.invalid("data and weights have three dimensions");
  return {shape[0], shape[weights == Weights::Float ? 2 : 1]};
}

struct Layer {
  int gates;
  size_t states;                         // one, or two with the cell's
  std::vector<const char*> activations;  // where the node says none
  bool merges_biases;                    // both biases can be added before the loop
  Cell cell;
  Weights weights = Weights::Float;
};

/// Gate i of tensors whose last (or first) dimension holds all of them.
Expr gate(const Expr& x, int i, int64_t hidden, int axis) { return slice(x, axis, i * hidden, (i + 1) * hidden); }

class Recurrent {
 public:
  Recurrent(Operation& in, const Layer& layer) : in_(in), layer_(layer), dtype_(in.dtype(in[0])) {
    for (size_t i = 0; i < 2; ++i)
      if (in.rank(in[i]) != 3) in.invalid("data and weights have three dimensions");
    std::tie(directions_, hidden_) = layer_extents(in, layer.weights);
    by_batch_ = in.integer("layout", 0) != 0;
    direction_ = in.text("direction", "forward");
    if (directions_ != (direction_ == "bidirectional" ? 2 : 1)) in.invalid("the weights do not fit the direction");
    data_ = by_batch_ ? transpose(in[0], int_array({1, 0, 2})) : in[0];
  }

  Values run() {
    Activations activations(in_, dtype_);
    std::vector<Expr> outputs;
    std::vector<std::vector<Expr>> last(layer_.states);
    for (int d = 0; d < directions_; ++d) {
      bool is_reversed = direction_ == "reverse" || d == 1;
      Direction direction = direction_of(d);
      for (const char* name : layer_.activations) direction.activations.push_back(activations.next(name));
      Values out = one_way(direction, d, is_reversed);
      for (size_t i = 0; i < layer_.states; ++i) last[i].push_back(out[i].tensor);
      outputs.push_back(is_reversed ? turned(out[layer_.states].tensor) : out[layer_.states].tensor);
    }
    Expr all = stack(Array<Expr>(outputs.begin(), outputs.end()), 1);  // (steps, directions, batch, hidden)
    Values out{Value(by_batch_ ? transpose(all, int_array({2, 0, 1, 3})) : all)};
    for (std::vector<Expr>& parts : last)
      out.push_back(Value(stack(Array<Expr>(parts.begin(), parts.end()), by_batch_ ? 1 : 0)));
    return out;
  }

 private:
  Expr part(size_t input, int d) const { return squeeze(slice(in_[input], 0, d, d + 1), int_array({0})); }

  /// `part` of a constant is one too.
  Expr constant_part(size_t input, int d) const {
    Expr out = part(input, d);
    return in_[input].as<Constant>() ? Expr(make_constant(*in_.constant(out))) : out;
  }

  /// By int8 weights: what is multiplied is quantised by its own range. One scale is for all weights or for a column.
  Matmul quantized_matmul(size_t weight, size_t scale, size_t zero, int d) const {
    Integers integer = integers(in_, constant_part(weight, d), in_.has(zero) ? constant_part(zero, d) : Expr());
    return [this, integer, factor = part(scale, d)](const Expr& x) {
      std::vector<Expr> bytes = quantized_by_range(in_, x);
      Expr sums = integer_matmul(in_, integers(in_, bytes[0], bytes[2]), integer);
      return multiply(cast(sums, dtype_), multiply(bytes[1], factor));
    };
  }

  Direction direction_of(int d) const {
    Direction out;
    if (layer_.weights == Weights::Integer) {
      out.project = quantized_matmul(1, 8, 9, d);
      out.recur = quantized_matmul(2, 10, 11, d);
    } else {
      Expr recurrence = part(2, d);
      out.project = [weight = part(1, d)](const Expr& x) { return dense(x, weight); };
      out.recur = [recurrence](const Expr& x) { return dense(x, recurrence); };
      out.first_recurrence = slice(recurrence, 0, 0, (layer_.gates - 1) * hidden_);
      out.last_recurrence = slice(recurrence, 0, (layer_.gates - 1) * hidden_, layer_.gates * hidden_);
    }
    if (in_.has(3)) {
      Expr both = part(3, d);
      out.bias = slice(both, 0, 0, layer_.gates * hidden_);
      out.recurrent_bias = slice(both, 0, layer_.gates * hidden_, 2 * layer_.gates * hidden_);
      if (layer_.merges_biases) {
        out.bias = add(out.bias, out.recurrent_bias);
        out.recurrent_bias = Expr();
      }
    }
    if (in_.has(7)) out.peepholes = part(7, d);
    return out;
  }

  Expr initial(size_t input, int d) const {
    if (in_.has(input)) {
      Expr given = by_batch_ ? transpose(in_[input], int_array({1, 0, 2})) : in_[input];
      return squeeze(slice(given, 0, d, d + 1), int_array({0}));
    }
    auto* batch = in_.shape(data_)[1].as<IntImm>();
    if (!batch) in_.unsupported("a batch that is known only at run time needs initial states");
    return filled(0, {batch->value, hidden_}, dtype_);
  }

  /// Steps in the other order, within the length of each sequence.
  Expr turned(const Expr& x) const {
    if (in_.has(4))
      return call_op("reverse_sequence", {x, in_[4]}, make_attrs<ReverseSequenceAttrs>([](auto& attrs) {
                       attrs.seq_axis = 0;
                       attrs.batch_axis = 1;
                     }));
    return call_op("reverse", {x}, make_attrs<ReverseAttrs>([](auto& attrs) { attrs.axis = PrimExpr(0); }));
  }

  /// Steps after the longest sequence are no part of the range by which data is quantised.
  Expr within_longest(const Expr& x) const {
    if (layer_.weights == Weights::Float || !in_.has(4)) return x;
    Expr longest = call_op("max", {in_[4]}, make_attrs<ReduceAttrs>([](auto& attrs) { attrs.keepdims = true; }));
    return call_op("sequence_mask", {x, maximum(in_[4], longest)}, make_attrs<SequenceMaskAttrs>([](auto&) {}));
  }

  Values one_way(const Direction& direction, int d, bool is_reversed) const {
    Expr projected = direction.project(within_longest(is_reversed ? turned(data_) : data_));
    if (direction.bias.defined()) projected = add(projected, direction.bias);
    Values states{Value(initial(5, d))};
    if (layer_.states == 2) states.push_back(Value(initial(6, d)));
    Body body = [&](Expr step, Expr, const Values& now) {
      Values next = layer_.cell(direction, take(projected, step, 0), now);
      Value output = next[0];
      if (in_.has(4)) {  // past its end a sequence keeps its state and gives zeros
        Expr lengths = expand_dims(cast_if_needed(in_, in_[4], DataType::Int(64)), 1);
        Expr goes_on = less(step, lengths);
        output = Value(where(goes_on, next[0].tensor, make_scalar(0, dtype_)));
        for (size_t i = 0; i < next.size(); ++i) next[i] = Value(where(goes_on, next[i].tensor, now[i].tensor));
      }
      return Step{Expr(), next, {output}};
    };
    auto* steps = in_.shape(data_)[0].as<IntImm>();
    if (steps) return counted_loop(in_, steps->value, Expr(), states, body, 1);
    Expr limit = reshape(slice(shape_at_run_time(data_), 0, 0, 1), Array<PrimExpr>());
    return counted_loop(in_, std::nullopt, limit, states, body, 1);
  }

  Operation& in_;
  const Layer& layer_;
  DataType dtype_;
  int64_t directions_ = 1, hidden_ = 0;
  bool by_batch_ = false;
  std::string direction_;
  Expr data_;
};

/// What goes into activations may be limited.
std::function<Expr(const Expr&)> limiter(Operation& in) {
  double limit = in.number("clip", 0);
  return [limit](const Expr& x) { return limit > 0 ? clip(x, -limit, limit) : x; };
}

Values rnn(Operation& in) {
  auto limited = limiter(in);
  Layer layer{1, 1, {"Tanh"}, true, [&](const Direction& way, const Expr& projected, const Values& states) {
                Expr sum = add(projected, way.recur(states[0].tensor));
                return Values{Value(way.activations[0](limited(sum)))};
              }};
  return Recurrent(in, layer).run();
}

/// Gates: update, reset, hidden.
Values gru(Operation& in) {
  auto limited = limiter(in);
  int64_t hidden = layer_extents(in, Weights::Float).second;
  DataType dtype = in.dtype(in[0]);
  bool is_linear = in.integer("linear_before_reset", 0) != 0;
  auto cell = [&](const Direction& way, const Expr& projected, const Values& states) {
    const Expr& state = states[0].tensor;
    const Activation &f = way.activations[0], &g = way.activations[1];
    auto with_bias = [&](const Expr& sum, int first, int last) {
      if (!way.recurrent_bias.defined()) return sum;
      return add(sum, slice(way.recurrent_bias, 0, first * hidden, last * hidden));
    };
    Expr all = is_linear ? with_bias(way.recur(state), 0, 3) : Expr();  // one matmul is enough
    Expr both = is_linear ? slice(all, 1, 0, 2 * hidden) : with_bias(dense(state, way.first_recurrence), 0, 2);
    both = f(limited(add(slice(projected, 1, 0, 2 * hidden), both)));
    Expr update = gate(both, 0, hidden, 1), reset = gate(both, 1, hidden, 1);
    Expr inner = is_linear ? multiply(reset, gate(all, 2, hidden, 1))
                           : with_bias(dense(multiply(reset, state), way.last_recurrence), 2, 3);
    Expr fresh = g(limited(add(gate(projected, 2, hidden, 1), inner)));
    return Values{Value(add(multiply(subtract(make_scalar(1, dtype), update), fresh), multiply(update, state)))};
  };
  Layer layer{3, 1, {"Sigmoid", "Tanh"}, false, cell};
  return Recurrent(in, layer).run();
}

/// Gates: input, output, forget, cell. Peepholes: input, output, forget.
Values lstm_of(Operation& in, Weights weights) {
  auto limited = limiter(in);
  int64_t hidden = layer_extents(in, weights).second;
  DataType dtype = in.dtype(in[0]);
  bool is_coupled = in.integer("input_forget", 0) != 0;
  auto cell = [&](const Direction& way, const Expr& projected, const Values& states) {
    const Activation &f = way.activations[0], &g = way.activations[1], &h = way.activations[2];
    const Expr& memory = states[1].tensor;
    Expr all = add(projected, way.recur(states[0].tensor));
    auto peek = [&](int i, const Expr& seen) {
      Expr x = gate(all, i, hidden, 1);
      if (way.peepholes.defined()) x = add(x, multiply(gate(way.peepholes, i, hidden, 0), seen));
      return f(limited(x));
    };
    Expr input = peek(0, memory);
    Expr forget = is_coupled ? subtract(make_scalar(1, dtype), input) : peek(2, memory);
    Expr fresh = g(limited(gate(all, 3, hidden, 1)));
    Expr next = add(multiply(forget, memory), multiply(input, fresh));
    return Values{Value(multiply(peek(1, next), h(next))), Value(next)};
  };
  Layer layer{4, 2, {"Sigmoid", "Tanh", "Tanh"}, true, cell, weights};
  return Recurrent(in, layer).run();
}
Values lstm(Operation& in) { return lstm_of(in, Weights::Float); }
Values dynamic_quantize_lstm(Operation& in) { return lstm_of(in, Weights::Integer); }

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
