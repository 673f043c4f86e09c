// Sketch rules of CPUs, and those that both lists have.

#include "ir/rewrite.h"
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

// ---- panels ------------------------------------------------------------------------------------------------

/// An operand that the only consumer, a tiled one, reads along its last axis and along no other space axis. One that may be laid out
/// anew is packed by that.
RuleAnswer is_panel(const SketchPolicyNode& policy, const State& state, int id) {
  const std::set<int> consumers = consumers_of(policy, state, id);
  if (consumers.size() != 1) return RuleAnswer::Pass;
  const int target = *consumers.begin();
  auto* op = stage_at(state, target)->op.as<te::ComputeOp>();
  if (!op || !needs_tiling(policy, state, target) || !is_tiled(stage_at(state, target))) return RuleAnswer::Pass;
  const te::Operation own = stage_at(state, id)->op;
  for (const te::Operation& each : policy.dag()->ops)
    if (is_layout_free(each, own)) return RuleAnswer::Pass;
  for (const auto& [producer, reads] : facts_of(policy, state, target).reads) {
    if (!producer.same_as(own)) continue;
    for (const Array<PrimExpr>& indices : reads) {
      if (indices.empty() || !is_shifted(indices.back(), op->axis.back())) return RuleAnswer::Pass;
      for (size_t i = 0; i + 1 < op->axis.size(); ++i)
        for (const PrimExpr& index : indices)
          if (uses_var(index, op->axis[i]->var)) return RuleAnswer::Pass;
    }
    return RuleAnswer::ApplyAndSkipRest;
  }
  return RuleAnswer::Pass;
}

Derived copy_panel(const SketchPolicyNode& policy, const State& state, int id) {
  Draft draft(state, policy);
  const int target = *consumers_of(policy, state, id).begin();
  const int added = draft.cache_read(id, "global", {target});
  draft.compute_at(added, target + 1, last_loop_of_outer_reduce_tile(draft.stage(target + 1)));
  return {{draft.finish(), id - 1}};
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

std::vector<SketchRule> planned_sketch_rules(bool copies_panels) {
  SketchRule own_memory = cache_write_rule(), with_consumer = tiling_with_fusion_rule();
  own_memory.condition = [](const SketchPolicyNode& policy, const State& state, int id) {
    return may_cache_write(policy, state, id) == RuleAnswer::Pass ? RuleAnswer::Pass : RuleAnswer::ApplyAndSkipRest;
  };
  with_consumer.condition = [](const SketchPolicyNode& policy, const State& state, int id) {
    return may_fuse_tiles(policy, state, id) == RuleAnswer::Pass ? RuleAnswer::Pass : RuleAnswer::ApplyAndSkipRest;
  };
  std::vector<SketchRule> out{always_inline_rule(), simplify_const_tensor_rule(), own_memory, with_consumer,
                              tiling_rule()};
  if (copies_panels) out.push_back({"CopyPanel", is_panel, copy_panel});
  out.push_back(skip_rule());
  return out;
}

std::vector<SketchRule> cpu_sketch_rules() {
  return {always_inline_rule(), simplify_const_tensor_rule(), {"AddRfactor", may_rfactor, rfactor_stage},
          cache_write_rule(),   tiling_with_fusion_rule(),    tiling_rule(),
          skip_rule()};
}

}  // namespace tessera::auto_scheduler
