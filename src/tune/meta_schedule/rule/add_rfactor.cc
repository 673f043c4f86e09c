#include "runtime/registry.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {

void AddRFactorNode::initialize(const TuneContextNode& context) {
  int64_t cores = core_count(context.target);
  max_spatial = cores * max_jobs_per_core;
  min_reduction = cores;
}

/// Gives one schedule for each loop of the split reduction, and the one it was given.
Array<Schedule> AddRFactorNode::apply(const Schedule& sch, const RV& block) {
  Cursor cursor = sch->cursor(block);
  if (!needs_shared_reduction(cursor, max_spatial, min_reduction) || is_tiled(cursor.block())) return {sch};
  Schedule original = schedule::copy_schedule(sch);
  Traced traced(sch);
  FusedReduction fused = fuse_reduction(traced, block);
  RVs factors = traced.sample_perfect_tile(fused.loop, 2, static_cast<int>(max_innermost_factor));
  Array<Schedule> out;
  for (const RV& loop : traced.split(fused.loop, factors)) {
    Traced trial(schedule::copy_schedule(sch));
    RV partial = trial.rfactor(loop, fused.spatial_loops);
    trial.get_loops(partial);
    trial.annotate(block, note::kRandomComputeProducer, PrimExpr(1));
    out.push_back(trial.sch());
  }
  out.push_back(original);
  return out;
}

namespace {
Globals add_rfactor_globals{{"meta_schedule.ScheduleRuleAddRFactor", [](int64_t jobs, const Any& innermost) {
                               AddRFactorNode rule;
                               rule.max_jobs_per_core = jobs;
                               if (!innermost.is_null()) rule.max_innermost_factor = innermost.to<int64_t>();
                               return ScheduleRule(make(std::move(rule)));
                             }}};
}  // namespace
}  // namespace tessera::meta_schedule
