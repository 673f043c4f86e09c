#pragma once
// The loops of a stage that no other rule knows: vectors of neighbouring elements, shared between threads.

#include "topi/block_rule.h"

namespace tessera::topi {

void tile_elements(schedule::State& state, const schedule::BlockRef& block);

}  // namespace tessera::topi
