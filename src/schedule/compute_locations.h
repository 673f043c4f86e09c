#pragma once
// The decisions of sample_compute_location.

#include "schedule/state.h"

namespace tessera::schedule {

/// Those possible for the block now: -2 inlines it, -1 leaves it, others number the loops of its consumers.
std::vector<int64_t> compute_location_decisions(const State& state, const BlockRef& block);

}  // namespace tessera::schedule
