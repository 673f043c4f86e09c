// com.microsoft's LSTM of int8 weights: data and states are quantised at run time by their own ranges. A loop over the steps.

#include "frontend/common/integer_contractions.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/quantized.h"
#include "frontend/onnx/nn/recurrent.h"
#include "frontend/onnx/tensor_ops/loops.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

Expr activated(const CellActivation& by, const Expr& x, DataType dtype) {
  auto number = [dtype](double value) { return make_scalar(value, dtype); };
  const std::string& name = by.name;
  if (name == "tanh") return tanh(x);
  if (name == "sigmoid") return sigmoid(x);
  if (name == "relu") return maximum(x, number(0));
  if (name == "softsign") return divide(x, add(number(1), call_op("abs", {x})));
  if (name == "softplus") return add(maximum(x, number(0)), log(add(number(1), exp(negative(call_op("abs", {x}))))));
  if (name == "affine") return add(multiply(x, number(by.alpha)), number(by.beta));
  if (name == "leakyrelu") return where(less(x, number(0)), multiply(x, number(by.alpha)), x);
  if (name == "thresholdedrelu") return where(less(x, number(by.alpha)), number(0), x);
  if (name == "scaledtanh") return multiply(number(by.alpha), tanh(multiply(number(by.beta), x)));
  if (name == "hardsigmoid") return clip(add(multiply(x, number(by.alpha)), number(by.beta)), 0, 1);
  ICHECK(name == "elu") << "cell_activations gives activations that recurrent layers have";
  Expr below = multiply(number(by.alpha), subtract(exp(minimum(x, number(0))), number(1)));
  return where(less(x, number(0)), below, x);
}

/// Something times the weights of all gates.
using Matmul = std::function<Expr(const Expr&)>;

/// Weights are (directions, k, 4 * hidden), with scales and zero points behind the other inputs.
class QuantizedLstm {
 public:
  explicit QuantizedLstm(Operation& in) : in_(in), dtype_(in.dtype(in[0])) {
    for (size_t i = 0; i < 3; ++i)
      if (in.rank(in[i]) != 3) in.invalid("data and weights have three dimensions");
    const std::vector<int64_t> shape = in.static_shape(in[2], "the weights of a recurrent layer");
    directions_ = shape[0], hidden_ = shape[1];
    by_batch_ = in.integer("layout", 0) != 0;
    direction_ = in.text("direction", "forward");
    if (directions_ != (direction_ == "bidirectional" ? 2 : 1)) in.invalid("the weights do not fit the direction");
    data_ = by_batch_ ? transpose(in[0], int_array({1, 0, 2})) : in[0];
    activations_ = cell_activations(in, {"Sigmoid", "Tanh", "Tanh"}, directions_);
    limit_ = in.number("clip", 0);
    is_coupled_ = in.integer("input_forget", 0) != 0;
  }

  Values run() {
    Array<Expr> outputs, last[2];
    for (int d = 0; d < directions_; ++d) {
      const bool is_reversed = direction_ == "reverse" || d == 1;
      Values out = one_way(d, is_reversed);
      for (size_t i = 0; i < 2; ++i) last[i].push_back(out[i].tensor);
      outputs.push_back(is_reversed ? turned(out[2].tensor) : out[2].tensor);
    }
    Expr all = stack(outputs, 1);  // (steps, directions, batch, hidden)
    Values out{Value(by_batch_ ? transpose(all, int_array({2, 0, 1, 3})) : all)};
    for (const Array<Expr>& parts : last) out.push_back(Value(stack(parts, by_batch_ ? 1 : 0)));
    return out;
  }

 private:
  Expr part(size_t input, int d) const { return squeeze(slice(in_[input], 0, d, d + 1), int_array({0})); }
  /// `part` of a constant is one too.
  Expr constant_part(size_t input, int d) const {
    Expr out = part(input, d);
    return in_[input].as<Constant>() ? Expr(make_constant(*in_.constant(out))) : out;
  }
  /// Gate i of tensors whose dimension `axis` holds all of them.
  Expr gate(const Expr& x, int i, int axis) const { return slice(x, axis, i * hidden_, (i + 1) * hidden_); }

  /// What is multiplied is quantised by its own range. One scale is for all weights or for a column.
  Matmul quantized_matmul(size_t weight, size_t scale, size_t zero, int d) const {
    Integers integer = integers(in_, constant_part(weight, d), in_.has(zero) ? constant_part(zero, d) : Expr());
    return [this, integer, factor = part(scale, d)](const Expr& x) {
      std::vector<Expr> bytes = quantized_by_range(in_, x);
      Expr sums = integer_matmul(in_, integers(in_, bytes[0], bytes[2]), integer);
      return multiply(cast(sums, dtype_), multiply(bytes[1], factor));
    };
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
    if (!in_.has(4)) return x;
    Expr longest = call_op("max", {in_[4]}, make_attrs<ReduceAttrs>([](auto& attrs) { attrs.keepdims = true; }));
    return call_op("sequence_mask", {x, maximum(in_[4], longest)}, make_attrs<SequenceMaskAttrs>([](auto&) {}));
  }

  /// The output and the cell after a step, from (data projected, states). Gates: input, output, forget, cell.
  Values cell(int d, const Matmul& recur, const Expr& projected, const Values& states) const {
    const CellActivation* by = activations_.data() + 3 * d;
    auto limited = [&](const Expr& x) { return limit_ > 0 ? clip(x, -limit_, limit_) : x; };
    const Expr& memory = states[1].tensor;
    Expr all = add(projected, recur(states[0].tensor));
    auto peek = [&](int i, const Expr& seen) {
      Expr x = gate(all, i, 1);
      if (in_.has(7)) x = add(x, multiply(gate(part(7, d), i, 0), seen));
      return activated(by[0], limited(x), dtype_);
    };
    Expr input = peek(0, memory);
    Expr forget = is_coupled_ ? subtract(make_scalar(1, dtype_), input) : peek(2, memory);
    Expr fresh = activated(by[1], limited(gate(all, 3, 1)), dtype_);
    Expr next = add(multiply(forget, memory), multiply(input, fresh));
    return {Value(multiply(peek(1, next), activated(by[2], next, dtype_))), Value(next)};
  }

  Values one_way(int d, bool is_reversed) const {
    const Matmul project = quantized_matmul(1, 8, 9, d), recur = quantized_matmul(2, 10, 11, d);
    Expr projected = project(within_longest(is_reversed ? turned(data_) : data_));
    if (in_.has(3)) {
      Expr both = part(3, d);
      projected = add(projected, add(slice(both, 0, 0, 4 * hidden_), slice(both, 0, 4 * hidden_, 8 * hidden_)));
    }
    Body body = [&](Expr step, Expr, const Values& now) {
      Values next = cell(d, recur, take(projected, step, 0), now);
      Value output = next[0];
      if (in_.has(4)) {  // past its end a sequence keeps its state and gives zeros
        Expr lengths = expand_dims(cast_if_needed(in_, in_[4], DataType::Int(64)), 1);
        Expr goes_on = less(step, lengths);
        output = Value(where(goes_on, next[0].tensor, make_scalar(0, dtype_)));
        for (size_t i = 0; i < next.size(); ++i) next[i] = Value(where(goes_on, next[i].tensor, now[i].tensor));
      }
      return Step{Expr(), next, {output}};
    };
    const Values states{Value(initial(5, d)), Value(initial(6, d))};
    auto* steps = in_.shape(data_)[0].as<IntImm>();
    if (steps) return counted_loop(in_, steps->value, Expr(), states, body, 1);
    return counted_loop(in_, std::nullopt, extent_at_run_time(in_, data_, 0), states, body, 1);
  }

  Operation& in_;
  DataType dtype_;
  int64_t directions_ = 1, hidden_ = 0;
  bool by_batch_ = false, is_coupled_ = false;
  double limit_ = 0;
  std::string direction_;
  Expr data_;
  std::vector<CellActivation> activations_;
};

}  // namespace

Values dynamic_quantize_lstm(Operation& in) { return QuantizedLstm(in).run(); }

}  // namespace tessera::onnx
