#pragma once
// What primitives ask about blocks before they rewrite.

#include "arith/iter_map/iter_map.h"
#include "schedule/state.h"

namespace tessera::schedule {

/// The block computes each element of its outputs once, from data that nothing else in its scope writes at the same
/// time: its iterations are independent. `why_not` says what is missing.
bool is_complete(const Cursor& block, std::string* why_not = nullptr);
/// The block accumulates: it has an init, its outputs are indexed by spatial iterations only.
bool is_reduction(const Cursor& block, std::string* why_not = nullptr);
/// The bindings are digits of these loops, where the block runs.
bool are_digits(const Cursor& block, const Map<Var, Range>& loops, arith::IterMapLevel level);
/// Bindings are digits of the loops around, so that loops may be reordered.
bool has_affine_bindings(const Cursor& block);
/// Rejects a block that is neither complete nor a reduction, or whose bindings are not affine.
void require_known_block(const Cursor& block);

/// The buffers that the block writes or reads, by its regions.
bool reads_buffer(const BlockNode* block, const Buffer& buffer);
bool writes_buffer(const BlockNode* block, const Buffer& buffer);
/// A storage scope that exists ("shared.dyn", "wmma.accumulator", ...); a ScheduleError otherwise.
void require_scope(const String& scope);
/// The region of that index; a ScheduleError that tells how many there are otherwise.
Buffer buffer_at(const BlockNode* block, int index, bool is_write);
/// True when the buffer outlives the scope: a parameter, or one allocated further out.
bool is_output(const Cursor& block);
/// The position among the loops of the block; a ScheduleError that lists them where it is none of them.
size_t require_loop_around(const Cursor& block, const LoopRef& loop);
/// Rejects unless the loops of the block run it alone and are its axes, one for one.
void require_own_loops(const Cursor& cursor);

}  // namespace tessera::schedule
