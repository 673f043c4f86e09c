#pragma once
// Reductions in registers: a tile of results side by side, each sum in a vector register of its own.

#include "topi/block_rule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Schedules a reduction and the one stage that reads it element by element, if there is one:
///   for outer tiles, in parallel:  sums = 0;  for all reduce axes: sums[t, lane] += ...;  store(sums)
/// The last axis of the result gives the lanes; `t`, an axis along which what the lanes load is the same where there is
/// one, gives the registers. False, and nothing is changed, when the reduction has no such form.
bool tile_reduction(schedule::State& state, const schedule::BlockRef& block, const Machine& machine);

}  // namespace tessera::topi
