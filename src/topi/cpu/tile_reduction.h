#pragma once
// Reductions in registers: a tile of results side by side, each sum in a vector register of its own.

#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// What is decided about a tile.
struct ReductionKnobsNode : Object {
  int32_t lanes = 1;         // of the last axis
  int32_t rows = 1;          // of `row_axis`, of the last one vectors side by side; a divisor of those there are
  int32_t row_axis = 0;      // an axis of the result
  bool is_parallel = false;  // it is worth a second thread
  static constexpr NodeInfo info{"topi.cpu.ReductionKnobs", &Object::info};
  static void fields(auto f) {
    f("lanes", &ReductionKnobsNode::lanes);
    f("rows", &ReductionKnobsNode::rows);
    f("row_axis", &ReductionKnobsNode::row_axis);
    f("is_parallel", &ReductionKnobsNode::is_parallel);
  }
};
using ReductionKnobs = Ref<ReductionKnobsNode>;

/// Schedules a reduction and its element-wise epilogue, if there is one:
///   for outer tiles, in parallel:  sums = 0;  for all reduce axes: sums[t, lane] += ...;  store(sums)
/// The last axis of the result gives the lanes; `t`, an axis along which what the lanes load is the same where there is
/// one, gives the registers. How much is reduced may be dynamic.
struct ReductionPlan {
  Reduction reduction;
  ReductionKnobs knobs;
  schedule::BlockRef padded;  // the stage that pads what the reduction reads, if there is one
  size_t padded_axes = 0;     // how many of the first axes it has in common with the result
};
/// Nothing where the reduction has no such form.
std::optional<ReductionPlan> plan_reduction(const schedule::State& state, const schedule::BlockRef& block,
                                            const Machine& machine);
/// A ScheduleError, and nothing is changed, where it cannot be.
void tile_reduction(schedule::State& state, const schedule::BlockRef& block, const ReductionPlan& plan);

}  // namespace tessera::topi
