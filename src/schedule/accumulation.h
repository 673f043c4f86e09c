#pragma once
// How a reduction block accumulates: one buffer by a sum, or several at once by choosing between two sets of values.

#include "schedule/state.h"
#include "tir/loops/accumulation.h"

namespace tessera::schedule {

using loops::Accumulated;
using loops::with_elements;

/// What the block accumulates. A ScheduleError where that is not known, or where it does not begin with its identity.
std::vector<Accumulated> accumulation_of(const BlockNode* block);

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
