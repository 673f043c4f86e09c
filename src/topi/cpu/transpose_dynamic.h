#pragma once
// Transpositions of dynamic extents: tiles in registers wherever a tile fits, found at run time.

#include "topi/cpu/transpose_tiles.h"

namespace tessera::topi {

/// The nest of a stage that moves elements from one axis of neighbours to another, some of its extents dynamic; null where a stage
/// is none. Two versions by the extents at hand: tiles, the last of which overlap those before them, or element by element
/// where an axis is shorter than a tile.
///   for outer axes: if w >= 16 and r >= 16: for tiles: out[.., r + c, w + l] = transposed(in[.., w + l, r + c])  else: ...
Stmt dynamic_transposing_nest(const schedule::State& state, const schedule::BlockRef& block, const Machine& machine);

}  // namespace tessera::topi
