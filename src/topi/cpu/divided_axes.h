#pragma once
// Axes that indices take apart by division, as reshapes leave them.

#include "topi/block_rule.h"

namespace tessera::topi {

/// A stage that divides an axis by numbers gets an axis for each digit, so that what it reads is told by whole axes:
///   for c in 116: out[c] = if c % 2 >= 1 then b[c // 2] else a[c // 2]
///     =>  for i in 58, j in 2: out[i * 2 + j] = if j >= 1 then b[i] else a[i]
/// Indices and conditions are simplified by the domains of the axes. The last axis stays as it is unless its digits
/// fill vectors.
void split_divided_axes(schedule::State& state, const schedule::BlockRef& block);

}  // namespace tessera::topi
