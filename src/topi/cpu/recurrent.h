#pragma once
// Recurrent layers in one kernel: all steps of all directions, with the matmul by the state and the gates of each step.

#include <vector>

#include "te/tensor.h"
#include "topi/cpu/contraction/micro_kernel.h"
#include "topi/cpu/recurrent_activation.h"

namespace tessera::topi {

enum class RecurrentCell { RNN, GRU, LSTM };
int64_t gates_of(RecurrentCell cell);
/// How many activations a direction has.
size_t activations_of(RecurrentCell cell);

struct RecurrentLayer {
  RecurrentCell cell = RecurrentCell::LSTM;
  int64_t directions = 1;
  bool is_reversed = false;                      // the only direction goes backwards; of two, the second does
  std::vector<RecurrentActivation> activations;  // of one direction after the other
  double clip = 0;                               // 0: nothing is limited
  bool linear_before_reset = false, input_forget = false;
  int64_t hidden = 0;  // with int8 weights

  /// A GRU whose last gate sees the state after the reset, which takes a second matmul.
  bool resets_first() const { return cell == RecurrentCell::GRU && !linear_before_reset; }
};

/// Units lie in `blocks` of a fixed size, the last of which may have padding. Tensors but for the first two may be empty.
struct RecurrentInputs {
  te::Tensor data;            // (steps, batch, directions * blocks * gates * block): what does not depend on the state
  te::Tensor weight;          // (directions, blocks, hidden, gates, block)
  te::Tensor reset_weight;    // (directions, blocks, hidden, 1, block): the last gate of a GRU that resets first
  te::Tensor recurrent_bias;  // (directions, blocks, block): of a GRU's last gate, inside what is reset
  te::Tensor peepholes;       // (directions, blocks, 3, block)
  te::Tensor initial_h, initial_c;  // (directions, batch, hidden)
  te::Tensor lengths;               // (batch), limited to [0, steps]

  // With int8 weights (directions, blocks, ceildiv(hidden, 4), gates, 4 * block), four neighbours along k in a lane, the state is quantised
  // to uint8 before each step by its range. These are (directions, blocks, gates, block), of the columns of the weights.
  te::Tensor weight_scale;  // fp32
  te::Tensor weight_sums;   // int32: of the weights less their zero points
  te::Tensor weight_zero;   // int32: zero points; empty where they are all 0

  bool is_quantized() const { return weight_scale.defined(); }
};

/// Sizes of the register tile and of what a task does; those of the default fit every target.
struct RecurrentTiles {
  int64_t lanes = 1, registers = 1, cores = 1;
  const char* memory = "global";  // where states are
  const Dot* dot = nullptr;       // of int8, where the machine has one
  const Isa* isa = nullptr;       // of `dot`
};
RecurrentTiles recurrent_tiles(const Machine& machine, const RecurrentInputs& in);

/// Outputs (steps, directions, batch, hidden), the last states (directions, batch, hidden) and, of an LSTM, the last cells. Weights
/// of 16 bits are widened as they are read; sums and states are fp32 or fp64.
Array<te::Tensor> recurrent(const RecurrentLayer& layer, const RecurrentInputs& in, const RecurrentTiles& tiles = {});

}  // namespace tessera::topi
