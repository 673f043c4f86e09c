#pragma once
// Changing how a buffer lies in memory, everywhere it is used.

#include "schedule/state.h"
#include "tir/index_map.h"

namespace tessera::schedule {

/// Replaces `old` by `fresh`, a parameter or a buffer allocated around `cursor`: element `i` of the one is
/// element `map(i)` of the other; an empty `map` keeps indices. Regions that blocks state are mapped too.
/// A ScheduleError where the buffer's address leaves the program's sight, or a view of it would change its shape.
void change_layout(State& state, const Cursor& cursor, const Buffer& old, const Buffer& fresh, const IndexMap& map);

/// The block with the indices and regions in it simplified, knowing `analyzer`'s facts.
Block with_simple_indices(const Block& block, arith::Analyzer& analyzer);

/// The map over indices of these types, one for each.
IndexMap with_index_dtypes(const IndexMap& map, const std::vector<DataType>& dtypes);

}  // namespace tessera::schedule
