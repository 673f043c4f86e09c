// Cells of recurrent layers that are one operator.

#include "frontend/common/parts.h"
#include "frontend/tensorflow/operation.h"
#include "relay/inspect.h"
#include "relay/make.h"

namespace tessera::tensorflow {
namespace {

using namespace relay;  // NOLINT: makers of calls

/// Inputs: x, the cell's state, the output before, the weight (x and output below each other), three peepholes, the bias.
Values lstm_block_cell(Operation& in) {
  const DataType dtype = in.dtype(in[0]);
  Expr sums = add(matmul_like_numpy(in, concatenate({in[0], in[2]}, 1), in[3]), in[7]);
  Expr gates = split(sums, 4, 1), before = in[1];
  auto gate = [&](int i) { return make_get_item(gates, i); };
  const bool has_peephole = in.flag("use_peephole");
  auto with_peephole = [&](const Expr& x, const Expr& state, size_t i) {
    return has_peephole ? add(x, multiply(state, in[i])) : x;
  };
  const double bias = in.number("forget_bias", 1), limit = in.number("cell_clip", 3);
  Expr input = sigmoid(with_peephole(gate(0), before, 4)), now = tanh(gate(1));
  Expr forget = sigmoid(with_peephole(add(gate(2), make_scalar(bias, dtype)), before, 5));
  Expr state = add(multiply(now, input), multiply(before, forget));
  if (limit > 0) state = clip(state, -limit, limit);
  Expr output = sigmoid(with_peephole(gate(3), state, 6)), squashed = tanh(state);
  return {input, state, forget, output, now, squashed, multiply(squashed, output)};
}

/// Inputs: x, the output before, the weights of both gates and of the candidate, their biases.
Values gru_block_cell(Operation& in) {
  const DataType dtype = in.dtype(in[0]);
  Expr x = in[0], before = in[1];
  Expr gates = split(sigmoid(add(matmul_like_numpy(in, concatenate({x, before}, 1), in[2]), in[4])), 2, 1);
  Expr reset = make_get_item(gates, 0), update = make_get_item(gates, 1);
  Expr now = tanh(add(matmul_like_numpy(in, concatenate({x, multiply(reset, before)}, 1), in[3]), in[5]));
  Expr out = add(multiply(update, before), multiply(subtract(make_scalar(1, dtype), update), now));
  return {reset, update, now, out};
}

}  // namespace

Rows recurrent_rows() {
  return {
      {"GRUBlockCell", gru_block_cell, {"r", "u", "c", "h"}},
      {"LSTMBlockCell", lstm_block_cell, {"i", "cs", "f", "o", "ci", "co", "h"}},
  };
}

}  // namespace tessera::tensorflow
