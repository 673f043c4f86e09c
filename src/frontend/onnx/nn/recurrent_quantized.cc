// com.microsoft's LSTM of int8 weights: data and states are quantised at run time by their own ranges.

#include <algorithm>

#include "frontend/common/integer_contractions.h"
#include "frontend/common/parts.h"
#include "frontend/onnx/nn/quantized.h"
#include "frontend/onnx/nn/recurrent.h"
#include "ir/prim/ops.h"
#include "relay/attrs/index.h"
#include "relay/attrs/reduce.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

const DataType kWide = DataType::Int(32);

/// Weights are (directions, k, 4 * hidden), with scales and zero points behind the other inputs: one for all, or one for a column.
class QuantizedLstm : public RecurrentNode {
 public:
  explicit QuantizedLstm(Operation& in)
      : RecurrentNode(in, {topi::RecurrentCell::LSTM, "lstm", {"Sigmoid", "Tanh", "Tanh"}}) {
    find_extents(1);
    if (in.static_shape(in[2], "the weights of a recurrent layer")[2] != gates_ * hidden_)
      in.invalid("the recurrent weights do not have a square for each gate");
  }

 protected:
  Expr projected() const override {
    const std::vector<Expr> bytes = quantized_by_range(in_, within_longest(data()));
    const int64_t k = in_.static_shape(in_[1], "the weights of a recurrent layer")[1];
    Array<Expr> parts;
    for (int64_t d = 0; d < directions_; ++d) {
      auto columns = [&](const Expr& x) {
        return constant_if_known(reshape_to(of_direction(in_blocks(x, gates_), d), {-1}));
      };
      Expr weight =
          transpose(units_in_blocks(transpose(in_[1], int_array({0, 2, 1})), gates_), int_array({0, 4, 2, 1, 3}));
      weight = constant_if_known(reshape_to(of_direction(weight, d), {k, -1}));
      Expr zero = in_.has(9) ? columns(for_columns(in_[9])) : Expr();
      Expr sums = integer_matmul(in_, integers(in_, bytes[0], bytes[2]), integers(in_, weight, zero));
      Expr out = multiply(cast(sums, dtype_), multiply(bytes[1], columns(for_columns(in_[8]))));
      parts.push_back(in_.has(3) ? add(out, columns(add(bias(0), bias(1)))) : out);
    }
    return directions_ == 1 ? parts[0] : concatenate(parts, 2);
  }

  /// Weights of uint8 move down by 128 together with their zero points.
  void add_weights(Inputs& to) const override {
    const bool is_unsigned = in_.dtype(in_[2]) == DataType::UInt(8);
    auto moved = [&](const Expr& x) {
      Expr wide = cast_if_needed(in_, x, kWide);
      return is_unsigned ? subtract(wide, make_scalar(128, kWide)) : wide;
    };
    const Expr zero_point = in_.has(11) ? in_[11] : filled(0, {directions_}, in_.dtype(in_[2]));
    const Expr weight = constant_if_known(moved(in_[2])), zero = constant_if_known(moved(for_columns(zero_point)));
    to.add("weight", quadruples(cast(weight, DataType::Int(8))));
    to.add("weight_scale", in_blocks(for_columns(in_[10]), gates_));
    Expr sums = reduce("sum", weight, int_array({1}));
    to.add("weight_sums",
           in_blocks(subtract(sums, multiply(zero, make_scalar(static_cast<double>(hidden_), kWide))), gates_));
    std::optional<std::vector<int64_t>> known = in_.constant_ints(zero);
    if (!known || std::any_of(known->begin(), known->end(), [](int64_t value) { return value != 0; }))
      to.add("weight_zero", in_blocks(zero, gates_));
  }

 private:
  Expr of_direction(const Expr& x, int64_t d) const { return squeeze(slice(x, 0, d, d + 1), int_array({0})); }
  Expr constant_if_known(const Expr& x) const {
    std::optional<NDArray> value = in_.constant(x);
    return value ? Expr(make_constant(*value)) : x;
  }
  /// A number for all columns of a direction, or one for each, as (directions, gates * hidden).
  Expr for_columns(const Expr& x) const {
    Expr rows = in_.rank(x) == 1 ? expand_dims(x, 1) : x;
    return broadcast_to(rows, int_array({directions_, gates_ * hidden_}));
  }

  /// (directions, hidden, gates * hidden) to (directions, blocks, ceildiv(hidden, 4), gates, 4 * block).
  Expr quadruples(const Expr& x) const {
    const int64_t groups = topi::ceil_div(hidden_, 4);
    Expr out = units_in_blocks(transpose(x, int_array({0, 2, 1})), gates_);  // (directions, gates, blocks, block, k)
    if (groups * 4 > hidden_) out = pad_with(out, {0, 0, 0, 0, 0}, {0, 0, 0, 0, groups * 4 - hidden_}, 0);
    out = reshape_to(out, {directions_, gates_, blocks_, kBlock, groups, 4});
    return reshape_to(transpose(out, int_array({0, 2, 4, 1, 3, 5})),
                      {directions_, blocks_, groups, gates_, 4 * kBlock});
  }

  /// Steps after the longest sequence are no part of the range by which data is quantised.
  Expr within_longest(const Expr& x) const {
    if (!in_.has(4)) return x;
    Expr longest = call_op("max", {in_[4]}, make_attrs<ReduceAttrs>([](auto& attrs) { attrs.keepdims = true; }));
    return call_op("sequence_mask", {x, maximum(in_[4], longest)}, make_attrs<SequenceMaskAttrs>([](auto&) {}));
  }
};

}  // namespace

Values dynamic_quantize_lstm(Operation& in) { return QuantizedLstm(in).run(); }

}  // namespace tessera::onnx
