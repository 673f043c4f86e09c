// Sketch rules of CPUs, and those that both lists have.

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

// ---- inline ------------------------------------------------------------------------------------------------

RuleAnswer may_inline(const SketchPolicyNode& policy, const State& state, int id) {
  const Stage stage = stage_at(state, id);
  const OpFacts& facts = facts_of(policy, state, id);
  if (is_placeholder(stage) || facts.is_output || has_reduce_loop(stage)) return RuleAnswer::Pass;
  return facts.is_strictly_inlineable || policy.task->is_gpu() ? RuleAnswer::ApplyAndSkipRest : RuleAnswer::Pass;
}

Derived inline_stage(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  draft.compute_inline(id);
  return {{draft.finish(), id - 1}};
}

// ---- constant tensors --------------------------------------------------------------------------------------

RuleAnswer has_const_indices(const SketchPolicyNode&, const State& state, int id) {
  return stage_at(state, id)->op->attrs.count(kSimplifyConstTensor) ? RuleAnswer::ApplyAndSkipRest : RuleAnswer::Pass;
}

/// Loops over a constant tensor are unrolled, the others split in two levels.
Derived simplify_const(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  const std::set<std::string> names = names_in_attr(stage_at(state, id), kSimplifyConstTensor);
  std::vector<int> outer, inner, unrolled;
  int position = 0;
  for (const Iterator& iter : stage_at(state, id)->iters) {
    if (names.count(iter->name.str())) {
      draft.annotate(id, position, Annotation::Unroll);
      unrolled.push_back(position++);
    } else {
      draft.split(id, position, {0});
      outer.push_back(position++);
      inner.push_back(position++);
    }
  }
  std::vector<int> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  order.insert(order.end(), unrolled.begin(), unrolled.end());
  draft.reorder(id, order);
  return {{draft.finish(), id - 1}};
}

// ---- rfactor -----------------------------------------------------------------------------------------------

RuleAnswer may_rfactor(const SketchPolicyNode& policy, const State& state, int id) {
  if (is_placeholder(stage_at(state, id)) || has_cache_write(state, id) || has_rfactor(state, id))
    return RuleAnswer::Pass;
  auto [space, reduce] = space_and_reduce_lengths(stage_at(state, id));
  if (space < 0 || reduce <= 1) return RuleAnswer::Pass;
  const int64_t cores = policy.task->hardware_params->num_cores;
  if (needs_tiling(policy, state, id))
    return space > reduce || space > cores * 16 ? RuleAnswer::Pass : RuleAnswer::Apply;
  return reduce > cores ? RuleAnswer::Apply : RuleAnswer::Pass;
}

/// Partial results for each outer, or for each inner part of the reduce loop; the first gives parallelism, the other vectors.
Derived rfactor_stage(const SketchPolicyNode& policy, const State& state, int id) {
  Derived out;
  for (int part : {0, 1}) {
    Draft draft(state, policy);
    auto [fused, spaces] = fuse_reduce_loops(&draft, id);
    draft.split(id, fused, {1});
    draft.rfactor(id, fused + part, spaces);
    if (part == 1) {
      std::vector<int> order;
      for (int i = 0; i < static_cast<int>(draft.stage(id)->iters.size()); ++i)
        if (i != spaces) order.push_back(i);
      order.push_back(spaces);
      draft.reorder(id, order);
    }
    out.emplace_back(draft.finish(), id - 1);
  }
  return out;
}

// ---- cache_write -------------------------------------------------------------------------------------------

RuleAnswer may_cache_write(const SketchPolicyNode& policy, const State& state, int id) {
  if (!needs_tiling(policy, state, id) || elementwise_consumer(policy, state, id) >= 0) return RuleAnswer::Pass;
  return policy.task->is_gpu() ? RuleAnswer::ApplyAndSkipRest : RuleAnswer::Apply;
}

Derived add_cache_write(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  draft.cache_write(id, "local");
  return {{draft.finish(), id}};
}

// ---- tiling ------------------------------------------------------------------------------------------------

RuleAnswer may_fuse_tiles(const SketchPolicyNode& policy, const State& state, int id) {
  if (!needs_tiling(policy, state, id) || elementwise_consumer(policy, state, id) < 0) return RuleAnswer::Pass;
  return has_cache_write(state, id) || policy.task->is_gpu() ? RuleAnswer::ApplyAndSkipRest : RuleAnswer::Apply;
}

Derived tile_with_consumer(const SketchPolicyNode& policy, const State& state, int id) {
  const int target = elementwise_consumer(policy, state, id);
  Derived out;
  const std::vector<int> levels = policy.task->is_gpu() ? std::vector<int>{3} : std::vector<int>{1, 2};
  for (int level : levels) {
    const std::string& structure = policy.tiling();
    const size_t at = static_cast<size_t>(level - 1);
    if (at >= structure.size() || (structure[at] != 'S' && structure[at] != 's')) continue;
    Draft draft(state, policy);
    std::vector<int> steps = tile_by_levels(&draft, id, structure);
    follow_tiling(&draft, target, steps, level);
    draft.compute_at(id, target, level * static_cast<int>(steps.size()) - 1);
    out.emplace_back(draft.finish(), id - 1);
  }
  return out;
}

RuleAnswer may_tile(const SketchPolicyNode& policy, const State& state, int id) {
  return needs_tiling(policy, state, id) ? RuleAnswer::ApplyAndSkipRest : RuleAnswer::Pass;
}

Derived tile_alone(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  tile_by_levels(&draft, id, policy.tiling());
  return {{draft.finish(), id - 1}};
}

}  // namespace

SketchRule always_inline_rule() { return {"AlwaysInline", may_inline, inline_stage}; }
SketchRule simplify_const_tensor_rule() {
  return {"SimplifyComputeWithConstTensor", has_const_indices, simplify_const};
}
SketchRule cache_write_rule() { return {"AddCacheWriteStage", may_cache_write, add_cache_write}; }
SketchRule tiling_with_fusion_rule() { return {"MultiLevelTilingWithFusion", may_fuse_tiles, tile_with_consumer}; }
SketchRule tiling_rule() { return {"MultiLevelTiling", may_tile, tile_alone}; }
SketchRule skip_rule() {
  return {"SkipStage", [](const SketchPolicyNode&, const State&, int) { return RuleAnswer::Apply; },
          [](const SketchPolicyNode&, const State& state, int id) { return Derived{{state, id - 1}}; }};
}

std::vector<SketchRule> cpu_sketch_rules() {
  return {always_inline_rule(), simplify_const_tensor_rule(), {"AddRfactor", may_rfactor, rfactor_stage},
          cache_write_rule(),   tiling_with_fusion_rule(),    tiling_rule(),
          skip_rule()};
}

}  // namespace tessera::auto_scheduler
