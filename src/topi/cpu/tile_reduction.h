#pragma once
// Reductions in registers: a tile of results side by side, each sum in a vector register of its own.

#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// Schedules a reduction and its element-wise epilogue, if there is one:
///   for outer tiles, in parallel:  sums = 0;  for all reduce axes: sums[t, lane] += ...;  store(sums)
/// The last axis of the result gives the lanes; `t`, an axis along which what the lanes load is the same where there is
/// one, gives the registers.
struct ReductionPlan {
  Reduction reduction;
  int64_t lanes = 1, rows = 1;  // of the last axis, and of `row_axis`; of the last one those are vectors side by side
  size_t row_axis = 0;
  schedule::BlockRef padded;  // the stage that pads what the reduction reads, if there is one
  size_t padded_axes = 0;     // how many of the first axes it has in common with the result
};
/// Nothing where the reduction has no such form.
std::optional<ReductionPlan> plan_reduction(const schedule::State& state, const schedule::BlockRef& block,
                                            const Machine& machine);
/// A ScheduleError, and nothing is changed, where it cannot be.
void tile_reduction(schedule::State& state, const schedule::BlockRef& block, const ReductionPlan& plan);

}  // namespace tessera::topi
