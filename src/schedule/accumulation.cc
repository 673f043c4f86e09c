#include "schedule/accumulation.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/primitive_error.h"
#include "tir/loops/conditions.h"

namespace tessera::schedule {
namespace {

/// Partial results all begin with the init, so it must not count: 0 of a sum, 1 of a product, and so on.
void require_identity(const BlockNode* block, const Accumulated& result) {
  if (!loops::begins_with_identity(result))
    throw PrimitiveError(block)
        << "block " << quoted(block->name_hint) << " begins with " << result.init
        << ", which is not the identity of its reduction, so that partial results would count it "
        << "more than once";
}

}  // namespace

std::vector<Accumulated> accumulation_of(const BlockNode* block) {
  std::vector<Accumulated> out = loops::match_accumulation(block);
  if (out.empty())
    throw Error(ScheduleError) << "block " << quoted(block->name_hint)
                               << " does not accumulate in a known way: by one sum, product, minimum or maximum, or by "
                                  "choosing between its results and new values all at once";
  if (out.size() == 1) require_identity(block, out[0]);
  return out;
}

InitLoops init_loops(const BlockNode* block, const Array<PrimExpr>& values, const PrimExpr& predicate,
                     const std::vector<const For*>& loops) {
  std::vector<bool> is_kept, is_reduced;
  for (const For* loop : loops) {
    bool in_spatial = false, in_reduction = false;
    for (size_t i = 0; i < values.size(); ++i)
      if (uses_var(values[i], loop->loop_var))
        (block->iter_vars[i]->iter_type == IterType::CommReduce ? in_reduction : in_spatial) = true;
    is_kept.push_back(in_spatial);
    is_reduced.push_back(in_reduction && !in_spatial);
  }
  InitLoops out{{}, bool_imm(true)};
  for (const PrimExpr& condition : loops::conjuncts(predicate)) {
    bool of_reduction = false, of_others = false;
    for (size_t i = 0; i < loops.size(); ++i)
      if (uses_var(condition, loops[i]->loop_var)) (is_reduced[i] ? of_reduction : of_others) = true;
    if (of_reduction && of_others)
      throw Error(ScheduleError) << "the condition " << condition << " of block " << quoted(block->name_hint)
                                 << " ties loops of its reduction axes to others, so its init cannot stand apart";
    if (of_reduction) continue;
    out.predicate = logical_and(out.predicate, condition);
    for (size_t i = 0; i < loops.size(); ++i)
      if (uses_var(condition, loops[i]->loop_var)) is_kept[i] = true;
  }
  for (size_t i = 0; i < loops.size(); ++i)
    if (is_kept[i]) out.loops.push_back(loops[i]);
  return out;
}

}  // namespace tessera::schedule
