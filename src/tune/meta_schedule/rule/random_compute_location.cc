#include "runtime/registry.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {
namespace {

/// The block stands alone in its loops, directly in the root, is read by others and not tiled.
bool is_movable(const Schedule& sch, const RV& rv) {
  Cursor cursor = sch->cursor(rv);
  if (is_root(cursor) || is_tiled(cursor.block())) return false;
  size_t blocks_around = 0;
  const For* outermost = nullptr;
  for (const Stmt& stmt : cursor.path) {
    blocks_around += stmt.as<BlockRealize>() != nullptr;
    if (!outermost && blocks_around == 1) outermost = stmt.as<For>();
  }
  if (blocks_around != 2 || !outermost) return false;
  if (schedule::blocks_below(outermost->body, cursor.function).size() > 1) return false;
  return !schedule::get_consumers(sch->state, sch->block(rv)).empty();
}

void compute_at_random(const Traced& sch, const RV& block) {
  sch.compute_at(block, sch.sample_compute_location(block));
}

}  // namespace

/// The producer is asked for first: where the block is inlined there is nothing left to ask.
Array<Schedule> RandomComputeLocationNode::apply(const Schedule& sch, const RV& block) {
  if (!is_movable(sch, block)) return {sch};
  Traced traced(sch);
  RVs producers;
  if (int_note(sch->cursor(block).block(), note::kRandomComputeProducer).value_or(0)) {
    producers = traced.get_producers(block);
    traced.unannotate(block, note::kRandomComputeProducer);
    ICHECK(producers.size() == 1) << "what rfactor made is the only producer";
  }
  compute_at_random(traced, block);
  if (!producers.empty()) compute_at_random(traced, producers[0]);
  return {sch};
}

namespace {
Globals random_compute_location_globals{{"meta_schedule.ScheduleRuleRandomComputeLocation",
                                         [] { return ScheduleRule(make(RandomComputeLocationNode{})); }}};
}  // namespace
}  // namespace tessera::meta_schedule
