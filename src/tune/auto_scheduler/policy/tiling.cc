// Tiling of stages by levels of loops, and what follows it.

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {

std::vector<int> tile_by_levels(Draft* draft, int stage_id, const std::string& structure) {
  const Stage stage = draft->stage(stage_id);
  const std::set<std::string> kept = names_in_attr(stage, kNoSplitAtInner);
  size_t spaces = 0, reduces = 0;
  for (char level : structure) {
    if (level == 'S' || level == 's') ++spaces;
    else if (level == 'R' || level == 'r') ++reduces;
    else throw Error(ValueError) << "auto_scheduler: Invalid multi-level tiling format: " << structure;
  }
  if (!spaces || !reduces)
    throw Error(ValueError) << "auto_scheduler: a tiling needs levels S and R, unlike " << structure;
  // Loops by level, as objects: their positions change with each split.
  std::vector<std::vector<Iterator>> space_levels(spaces), reduce_levels(reduces);
  std::vector<Iterator> inner_spaces, inner_reduces;
  std::vector<int> space_steps;
  int position = 0;
  for (const Iterator& iter : stage->iters) {
    const bool is_space = iter->iter_kind == IterKind::Spatial;
    if (!is_space && iter->iter_kind != IterKind::Reduction)
      throw Error(ValueError) << "auto_scheduler: stage " << stage->op->name << " is fused already and cannot be tiled";
    auto& levels = is_space ? space_levels : reduce_levels;
    if (kept.count(iter->name.str())) {
      (is_space ? inner_spaces : inner_reduces).push_back(iter);
      ++position;
    } else if (levels.size() == 1) {
      levels[0].push_back(iter);
      ++position;
    } else {
      draft->split(stage_id, position, std::vector<int64_t>(levels.size() - 1, 0));
      if (is_space) space_steps.push_back(draft->last_step());
      for (auto& level : levels) level.push_back((*draft)->iter(stage_id, position++));
    }
  }
  space_levels.back().insert(space_levels.back().begin(), inner_spaces.begin(), inner_spaces.end());
  reduce_levels.back().insert(reduce_levels.back().begin(), inner_reduces.begin(), inner_reduces.end());
  std::vector<Iterator> wanted;
  size_t space = 0, reduce = 0;
  for (char level : structure) {
    const auto& loops = level == 'S' || level == 's' ? space_levels[space++] : reduce_levels[reduce++];
    wanted.insert(wanted.end(), loops.begin(), loops.end());
  }
  std::vector<int> order;
  const Stage split = draft->stage(stage_id);
  for (const Iterator& loop : wanted)
    for (size_t i = 0; i < split->iters.size(); ++i)
      if (split->iters[i].same_as(loop)) order.push_back(static_cast<int>(i));
  draft->reorder(stage_id, order);
  return space_steps;
}

int last_loop_of_outer_reduce_tile(const Stage& stage) {
  auto* op = stage->op.as<te::ComputeOp>();
  const std::set<std::string> kept = names_in_attr(stage, kNoSplitAtInner);
  size_t axes = 0;
  for (const IterVar& axis : op->reduce_axis) axes += !kept.count(axis->var->name.str());
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(stage->iters.size()); ++i) {
    const Iterator iter = stage->iters[StateNode::at(i)];
    if (iter->iter_kind != IterKind::Reduction) continue;
    add_original_names(iter->name.str(), &names);
    if (!axes || names.size() == axes) return i;
  }
  throw Error(ValueError) << "auto_scheduler: stage " << op->name << " has no reduce loop to read at";
}

void follow_tiling(Draft* draft, int stage_id, const std::vector<int>& split_steps, int level) {
  const Stage stage = draft->stage(stage_id);
  const std::set<std::string> kept = names_in_attr(stage, kNoSplitAtInner);
  std::vector<std::vector<int>> levels(static_cast<size_t>(level) + 1);
  int position = 0;
  size_t count = 0;
  for (const Iterator& iter : stage->iters) {
    if (iter->iter_kind != IterKind::Spatial)
      throw Error(ValueError) << "auto_scheduler: stage " << stage->op->name << " reduces and cannot follow a tiling";
    if (kept.count(iter->name.str())) {
      levels.back().push_back(position++);
      continue;
    }
    if (count >= split_steps.size())
      throw Error(ValueError) << "auto_scheduler: stage " << stage->op->name << " has more axes than what it follows";
    draft->follow_split(stage_id, position, split_steps[count++], level);
    const int last = position + level;
    if (iter->annotation == Annotation::Unroll || iter->annotation == Annotation::Vectorize)
      draft->annotate(stage_id, last, iter->annotation);
    else if (iter->annotation == Annotation::Parallel) draft->annotate(stage_id, position, iter->annotation);
    for (auto& loops : levels) loops.push_back(position++);
  }
  std::vector<int> order;
  for (const auto& loops : levels) order.insert(order.end(), loops.begin(), loops.end());
  draft->reorder(stage_id, order);
}

std::pair<int, int> fuse_reduce_loops(Draft* draft, int stage_id) {
  std::vector<int> reduces;
  int position = 0, spaces = 0;
  for (const Iterator& iter : draft->stage(stage_id)->iters) {
    if (iter->iter_kind == IterKind::Spatial) ++spaces;
    else reduces.push_back(position);
    ++position;
  }
  if (reduces.empty())
    throw Error(ValueError) << "auto_scheduler: stage " << draft->stage(stage_id)->op->name << " does not reduce";
  return {reduces.size() == 1 ? reduces[0] : draft->fuse(stage_id, reduces), spaces};
}

std::vector<std::pair<int, int>> compute_locations(const SketchPolicyNode& policy, const State& state, int stage) {
  const int target_id = single_consumer(policy, state, stage);
  if (target_id < 0) return {};
  std::vector<std::pair<int, int>> out;
  const Stage target = state->stages[StateNode::at(target_id)];
  const Attachment* around = target->compute_at == ComputeAt::Iter ? state->attachment_of(target_id) : nullptr;
  bool seen_reduce = false;
  for (int i = 0; i < static_cast<int>(target->iters.size()); ++i) {
    const Iterator iter = target->iters[StateNode::at(i)];
    if (iter->iter_kind == IterKind::Reduction) {
      seen_reduce = true;
      if (!is_tiled(target)) break;
    } else if (iter->iter_kind == IterKind::Spatial && seen_reduce) {
      break;  // not into inner tiles
    }
    if (iter->annotation == Annotation::Unroll) break;
    if (extent_of(iter) == 1) continue;
    // The outermost loops of a stage inside another have one iteration.
    if (around && iter->iter_kind == IterKind::Spatial && std::string_view(iter->name).ends_with(".0")) continue;
    out.emplace_back(target_id, i);
    if (state->has_attached(target_id, i)) break;
  }
  if (!around) return out;
  const Stage outer = state->stages[StateNode::at(around->target)];
  for (int i = 0; i < static_cast<int>(outer->iters.size()); ++i) {
    const Iterator iter = outer->iters[StateNode::at(i)];
    if (iter->iter_kind == IterKind::Reduction || state->has_attached(around->target, i)) break;
    if (iter->annotation == Annotation::Unroll) break;
    if (extent_of(iter) != 1) out.emplace_back(around->target, i);
  }
  return out;
}

}  // namespace tessera::auto_scheduler
