#pragma once
// The loops of a stage that no other rule knows: vectors of neighbouring elements, shared between threads.

#include "topi/block_rule.h"

namespace tessera::topi {

inline constexpr int64_t kVectorLanes = 16;  // of the widest registers there are, in floats

void tile_elements(schedule::State& state, const schedule::BlockRef& block);

}  // namespace tessera::topi
