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

/// A body that takes in other values by the same rule: `elements`, one for each result.
Stmt with_elements(const std::vector<Accumulated>& results, const Array<PrimExpr>& elements);

/// The loops that an init runs in and where it does: those that spatial axes and their conditions name.
struct InitLoops {
  std::vector<const For*> loops;
  PrimExpr predicate;
};
/// Of `loops` around the block, bound by `values` under `predicate`. A ScheduleError where a condition ties loops of
/// reduction axes to others, so that nobody can say where the init alone must run.
InitLoops init_loops(const BlockNode* block, const Array<PrimExpr>& values, const PrimExpr& predicate,
                     const std::vector<const For*>& loops);

}  // namespace tessera::schedule
