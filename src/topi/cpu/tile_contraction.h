#pragma once
// Sums of products in registers: convolutions whose channels lie together, and matrix products of that form.

#include "topi/block_rule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// Schedules a sum of products whose last axis lies together in memory in one factor, and the one stage that reads it
/// element by element, if there is one:
///   for outer tiles, in parallel:  sums = 0;  for all reduce axes: sums[p, v, lane] += a[p] * b[v, lane];  store(sums)
/// `p` are neighbours for which b is the same (pixels), `v` neighbours for which a is the same (more lanes). A factor that
/// every pixel has of its own, as in a convolution of each channel alone, leaves v at 1. Tiles are those with the least
/// work that fit the registers; pixels that do not fill a whole tile get a smaller one.
/// False, and nothing is changed, when the reduction has no such form.
bool tile_contraction(schedule::State& state, const schedule::BlockRef& block, const Machine& machine);

}  // namespace tessera::topi
