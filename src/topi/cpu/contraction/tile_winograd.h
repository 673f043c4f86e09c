#pragma once
// Winograd's convolution: its transforms in registers, its matmuls as tiles, its stages close together.

#include "topi/block_rule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// What is decided about it.
struct WinogradKnobsNode : Object {
  // Rows of tiles that go through all stages together, a divisor of those of an image; those of all images: stage after stage.
  int32_t rows = 1;
  static constexpr NodeInfo info{"topi.cpu.WinogradKnobs", &Object::info};
  static void fields(auto f) { f("rows", &WinogradKnobsNode::rows); }
};
using WinogradKnobs = Ref<WinogradKnobsNode>;

/// Schedules the stages of topi/nn/winograd.h and their element-wise epilogue. Where all transformed tiles are more than L2
/// holds, rows of tiles go through all stages one after the other; of three spatial axes, the first numbers images as the batch does:
///   for blocks of rows, in parallel:  { data = B^T d B;  products = data . weight;  store(A^T products A) }
/// else each stage is finished before the next, and shared by the threads on its own.
/// A ScheduleError where it cannot be: the program may be changed then.
void tile_winograd(BlockProgram& program, const Machine& machine, const WinogradKnobs& knobs);
/// The cheapest plan; empty where the program has not all those stages, of fixed extents, with lanes of vectors in both directions.
WinogradKnobs plan_winograd(BlockProgram& program, const Machine& machine);

}  // namespace tessera::topi
