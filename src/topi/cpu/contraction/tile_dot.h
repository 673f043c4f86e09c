#pragma once
// Inner products of rows: both factors lie together in memory along the axis that is summed up.

#include "topi/block_rule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Schedules a reduction whose last reduce axis lies together in memory in all it reads, such as a product with a
/// transposed matrix, and the one stage that reads it element by element, if there is one:
///   for tiles, in parallel:  sums = 0;  for k by vectors: sums[i, j, lane] += a[i, k] * b[j, k];  store(sum of lanes)
/// False, and nothing is changed, when the reduction has no such form.
bool tile_dot(schedule::State& state, const schedule::BlockRef& block, const Machine& machine);

}  // namespace tessera::topi
