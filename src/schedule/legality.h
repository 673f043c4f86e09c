#pragma once
// Rules that a rewritten program is held to; each names in `why_not` the rule that is broken.

#include "schedule/state.h"

namespace tessera::schedule {

/// The block at its new position still runs for every value of its axes that it ran for at the old one.
bool runs_all_of(const Cursor& now, const Cursor& before, std::string* why_not);

/// Each element is accumulated from all values of the reduction axes, each taken once, and begins anew where a loop
/// around repeats the whole. Blocks that do not accumulate pass.
bool accumulates_once(const Cursor& block, std::string* why_not);

/// The loop carries nothing from one iteration to another: its iterations may run in any order and at the same time.
/// `shares_reductions`: threads that can add up a reduction among them may divide its axes.
bool has_independent_iterations(const Cursor& loop, bool shares_reductions, std::string* why_not);

/// The buffers that the block writes are read and written inside the loop only, and are not a parameter of the function.
bool is_private_to(const Cursor& loop, const Cursor& block);

/// The block adds to what it writes: it has an init, or reads exactly the elements that it writes.
bool is_accumulating(const BlockNode* block);

/// A statement outside any block under the loop; empty when there is none.
Stmt loose_statement(const Stmt& stmt);

}  // namespace tessera::schedule
