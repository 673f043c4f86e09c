#pragma once
// How a reduction block accumulates: one buffer by a sum, or several at once by choosing between two sets of values.

#include "schedule/state.h"

namespace tessera::schedule {

/// One result: C[indices] = value, where `value` combines C[indices] with `element`.
struct Accumulated {
  Buffer buffer;
  Array<PrimExpr> indices;
  PrimExpr value, element;
};

/// What the block accumulates. Known are C op e, where op is +, *, min or max, and
///   R0, R1 = Select(keep(R, x), R0, x0), Select(keep(R, x), R1, x1)
/// as argmin and argmax have it (either branch may keep). A ScheduleError for anything else.
std::vector<Accumulated> accumulation_of(const BlockNode* block);

/// The body of the block with other values to be taken in: `elements`, one for each result.
Stmt with_elements(const BlockNode* block, const std::vector<Accumulated>& results, const Array<PrimExpr>& elements);

}  // namespace tessera::schedule
