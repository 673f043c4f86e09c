#include "runtime/registry.h"
#include "tune/meta_schedule/analysis.h"
#include "tune/meta_schedule/rule/rules.h"

namespace tessera::meta_schedule {

void CrossThreadReductionNode::initialize(const TuneContextNode& context) {
  max_threads = context.target ? context.target.int_option("max_threads_per_block", -1) : -1;
  warp_size = context.target ? context.target.int_option("thread_warp_size", -1) : -1;
}

namespace {

/// Where a reduction can be computed inside its consumers: a loop of the first of them, and its innermost one.
struct FusionTarget {
  RV loop, block, innermost;
};

FusionTarget fusion_target(const Traced& sch, const RV& block) {
  if (sch.find(block).block()->writes.size() != 1) return {};
  RVs consumers = sch.get_consumers(block);
  if (consumers.empty() || needs_multi_level_tiling(sch.find(consumers[0]))) return {};
  Cursor first = sch.find(consumers[0]);
  size_t shared = first.loops().size();
  for (const RV& consumer : consumers)
    shared = std::min(shared, schedule::common_loops(first, sch.find(consumer)).size());
  if (consumers.size() > 1 && shared == 0) return {};
  RVs target_loops = sch.get_loops(consumers[0]), own_loops = sch.get_loops(block);
  size_t depth = 0;  // how many spatial loops both begin with, not deeper than what all consumers share
  size_t most = std::min(own_loops.size(), target_loops.size());
  if (consumers.size() > 1) most = std::min(most, shared);
  GlobalVar function = sch.sch()->block(block).function;
  while (depth < most && loop_type(sch.find(own_loops[depth]).loop(), function) == IterType::DataPar) ++depth;
  if (depth == 0) return {};
  return {target_loops[depth - 1], consumers[0], target_loops.back()};
}

bool has_thread(const Traced& sch, const RV& block) {
  for (const Stmt& stmt : sch.find(block).path)
    if (auto* loop = stmt.as<For>(); loop && is_thread_index(loop)) return true;
  return false;
}

}  // namespace

Array<Schedule> CrossThreadReductionNode::apply(const Schedule& sch, const RV& block) {
  Cursor cursor = sch->cursor(block);
  if (max_threads == -1 || warp_size == -1 || is_root(cursor) || thread_extents.empty() ||
      !needs_shared_reduction(cursor, max_threads, warp_size))
    return {sch};
  Traced trial(schedule::copy_schedule(sch));
  FusionTarget target = fusion_target(trial, block);
  RV threads = trial.sample_categorical(thread_extents);
  if (target.block) {
    if (!has_thread(trial, target.block)) {
      RVs parts = trial.split(target.innermost, {ObjectRef(), threads});
      trial.bind(parts[1], "threadIdx.x");
      if (target.innermost.same_as(target.loop)) target.loop = parts[0];
    }
    trial.compute_at(block, target.loop);
    trial.set_scope(block, 0, "shared");
  }
  FusedReduction fused = fuse_reduction(trial, block);
  RVs parts = trial.split(fused.loop, {ObjectRef(), threads});
  trial.bind(parts[1], "threadIdx.x");
  return {trial.sch(), sch};
}

namespace {
Globals cross_thread_reduction_globals{
    {"meta_schedule.ScheduleRuleCrossThreadReduction", [](const Array<PrimExpr>& extents) {
       CrossThreadReductionNode rule;
       rule.thread_extents = ints_of(extents);
       return ScheduleRule(make(std::move(rule)));
     }}};
}  // namespace
}  // namespace tessera::meta_schedule
