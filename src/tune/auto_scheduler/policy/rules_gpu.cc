// Sketch rules of GPUs.

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

// ---- cache_read --------------------------------------------------------------------------------------------

RuleAnswer may_cache_read(const SketchPolicyNode& policy, const State& state, int id) {
  const std::set<int> consumers = consumers_of(policy, state, id);
  if (consumers.size() != 1) return RuleAnswer::Pass;
  const int target = *consumers.begin();
  if (!needs_tiling(policy, state, target) || has_cross_thread_reduction(state, target)) return RuleAnswer::Pass;
  return producers_of(policy, state, target, true).count(id) ? RuleAnswer::ApplyAndSkipRest : RuleAnswer::Pass;
}

Derived add_cache_read(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  const int target = *consumers_of(policy, state, id).begin();
  const int added = draft.cache_read(id, "shared", {target});
  const int reader = target + 1;
  draft.compute_at(added, reader, last_loop_of_outer_reduce_tile(draft.stage(reader)));
  return {{draft.finish(), id}};
}

// ---- beside constant tensors -------------------------------------------------------------------------------

RuleAnswer has_const_consumer(const SketchPolicyNode& policy, const State& state, int id) {
  if (producers_of(policy, state, id).empty() || has_reduce_loop(stage_at(state, id))) return RuleAnswer::Pass;
  const std::set<int> consumers = consumers_of(policy, state, id);
  if (consumers.size() != 1 || !stage_at(state, *consumers.begin())->op->attrs.count(kSimplifyConstTensor))
    return RuleAnswer::Pass;
  return RuleAnswer::ApplyAndSkipRest;
}

/// At the last loop of the consumer that is not unrolled.
Derived compute_before_unrolled(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  const int target = *consumers_of(policy, state, id).begin();
  const Stage consumer = draft.stage(target);
  for (int i = 1; i < static_cast<int>(consumer->iters.size()); ++i) {
    if (consumer->iters[StateNode::at(i)]->annotation != Annotation::Unroll) continue;
    draft.compute_at(id, target, i - 1);
    break;
  }
  return {{draft.finish(), id - 1}};
}

// ---- reductions across threads -----------------------------------------------------------------------------

RuleAnswer may_reduce_across(const SketchPolicyNode& policy, const State& state, int id) {
  if (is_placeholder(stage_at(state, id)) || has_cache_write(state, id)) return RuleAnswer::Pass;
  auto [space, reduce] = space_and_reduce_lengths(stage_at(state, id));
  if (space < 0 || reduce <= 1) return RuleAnswer::Pass;
  if (needs_tiling(policy, state, id)) {
    // Enough parallelism without it.
    if (space > reduce || space > policy.task->hardware_params->max_threads_per_block) return RuleAnswer::Pass;
    return RuleAnswer::Apply;
  }
  return reduce > policy.task->hardware_params->warp_size ? RuleAnswer::Apply : RuleAnswer::Pass;
}

/// The inner part of a split reduce loop runs on threads; lowering wants it outside of what each thread reduces itself.
void bind_reduce(Draft* draft, int id, int outer) {
  draft->annotate(id, outer + 1, Annotation::ThreadX);
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(draft->stage(id)->iters.size()); ++i)
    order.push_back(i == outer ? outer + 1 : i == outer + 1 ? outer : i);
  draft->reorder(id, order);
}

Derived reduce_across(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  const int64_t warp = policy.task->hardware_params->warp_size;
  const auto [fused, spaces] = fuse_reduce_loops(&draft, id);
  const int target = single_consumer(policy, state, id);
  const int common = target >= 0 ? common_outer_loops(policy, state, id, target) : 0;
  if (common <= 0 || needs_tiling(policy, state, target)) {
    draft.split(id, fused, {warp});
    bind_reduce(&draft, id, fused);
    return {{draft.finish(), id - 1}};
  }
  // The consumer runs on the same threads; it is split for them where it is not yet.
  std::vector<int> steps;
  for (size_t i = 0; i < draft->transform_steps.size(); ++i)
    if (draft->transform_steps[i].as<SplitStep>() && draft->transform_steps[i]->stage_id == target)
      steps.push_back(static_cast<int>(i));
  if (steps.empty()) {
    const int last = static_cast<int>(draft.stage(target)->iters.size()) - 1;
    draft.split(target, last, {warp});
    steps.push_back(draft.last_step());
    draft.annotate(target, last + 1, Annotation::ThreadX);
  }
  draft.follow_split(id, fused, steps[0], 1);
  bind_reduce(&draft, id, fused);
  draft.compute_at(id, target, common - 1);
  return {{draft.finish(), id - 1}};
}

}  // namespace

std::vector<SketchRule> gpu_sketch_rules() {
  return {{"AddCacheRead", may_cache_read, add_cache_read},
          {"SpecialComputeLocationGPU", has_const_consumer, compute_before_unrolled},
          always_inline_rule(),
          simplify_const_tensor_rule(),
          {"CrossThreadReduction", may_reduce_across, reduce_across},
          cache_write_rule(),
          tiling_with_fusion_rule(),
          tiling_rule(),
          skip_rule()};
}

}  // namespace tessera::auto_scheduler
