// Rules that make states of sketches, on CPUs: lengths, compute locations, threads, unrolling, vectors, all at random.

#include <algorithm>

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

bool is_skipped(const Stage& stage) { return is_placeholder(stage) || stage->compute_at == ComputeAt::Inlined; }

bool fill(const SketchPolicyNode& policy, State* state, Random* random) {
  StateNode out(**state);
  for (size_t i = 0; i < out.transform_steps.size(); ++i) {
    auto* split = out.transform_steps[i].as<SplitStep>();
    if (!split || std::find(split->lengths.begin(), split->lengths.end(), 0) == split->lengths.end()) continue;
    if (split->extent < 1) return false;
    const auto& choices =
        factorizations(split->extent, split->lengths.size(), policy.params.max_innermost_split_factor);
    if (choices.empty()) return false;
    SplitStep filled(*split);
    filled.lengths = choices[choose(random, choices.size())];
    out.transform_steps.set(i, make(std::move(filled)));
  }
  out.concrete = true;
  *state = make(std::move(out));
  return true;
}

bool move_stages(const SketchPolicyNode& policy, State* state, Random* random) {
  if (!policy.params.disable_change_compute_location) {
    Draft draft(*state, policy);
    for (int id = static_cast<int>(draft->stages.size()) - 1; id >= 0; --id) {
      const State now = draft.finish();
      const Stage stage = stage_at(now, id);
      if (is_skipped(stage) || is_tiled(stage) || needs_tiling(policy, now, id)) continue;
      const std::vector<std::pair<int, int>> locations = compute_locations(policy, now, id);
      const size_t choice = choose(random, locations.size() + 2);
      if (choice == 0) {
        if (!has_reduce_loop(stage) && now->attachment_of(id)) draft.compute_inline(id);
      } else if (choice == 1) {
        draft.compute_root(id);
      } else {
        draft.compute_at(id, locations[choice - 2].first, locations[choice - 2].second);
      }
    }
    *state = draft.finish();
  }
  *state = infer_bound(policy.dag(), *state);
  return true;
}

/// Fuses and runs in parallel the outer loops of a stage, as many as give work for all cores.
void parallelize(const SketchPolicyNode& policy, Draft* draft, int id, int first) {
  const Stage stage = draft->stage(id);
  std::vector<int> loops;
  int64_t degree = 1;
  int at = first;
  const int count = static_cast<int>(stage->iters.size());
  for (; at < count; ++at) {
    const Iterator iter = stage->iters[StateNode::at(at)];
    if (iter->iter_kind == IterKind::Reduction || iter->annotation != Annotation::None) break;
    loops.push_back(at);
    degree *= std::max<int64_t>(extent_of(iter), 1);
    if (degree > policy.task->hardware_params->num_cores * 16) break;
    if ((*draft)->has_attached(id, at)) break;
  }
  if (degree == 1) {
    if (at >= count) return;
    for (int attached : (*draft)->attached_to(id, at)) parallelize(policy, draft, attached, 0);
    if (stage->iters[StateNode::at(at)]->iter_kind != IterKind::Reduction) parallelize(policy, draft, id, at + 1);
    return;
  }
  const int fused = loops.size() == 1 ? loops[0] : draft->fuse(id, loops);
  draft->annotate(id, fused, Annotation::Parallel);
}

bool parallel(const SketchPolicyNode& policy, State* state, Random*) {
  Draft draft(*state, policy);
  for (int id = 0; id < static_cast<int>(draft->stages.size()); ++id) {
    const Stage stage = draft.stage(id);
    if (is_placeholder(stage) || stage->compute_at != ComputeAt::Root) continue;
    parallelize(policy, &draft, id, 0);
  }
  *state = draft.finish();
  return true;
}

/// Unrolls the loops that the operation lists, those of the innermost tile.
void unroll_listed(Draft* draft, int id) {
  const Stage stage = draft->stage(id);
  const std::set<std::string> wanted = names_in_attr(stage, kAlwaysUnrollInner);
  std::set<std::string> seen;
  for (int i = static_cast<int>(stage->iters.size()) - 1; i >= 0; --i) {
    const Iterator iter = stage->iters[StateNode::at(i)];
    const size_t before = seen.size();
    add_original_names(iter->name.str(), &seen);
    if (seen.size() == before) return;  // the next tile
    std::set<std::string> own;
    add_original_names(iter->name.str(), &own);
    if (own.size() == 1 && wanted.count(*own.begin()) && iter->annotation == Annotation::None)
      draft->annotate(id, i, Annotation::Unroll);
  }
}

bool unroll(const SketchPolicyNode& policy, State* state, Random* random) {
  static constexpr int kSteps[] = {0, 16, 64, 512, 1024};
  const size_t choices = policy.task->is_gpu() ? 5 : 4;
  Draft draft(*state, policy);
  for (int id = 0; id < static_cast<int>(draft->stages.size()); ++id) {
    const Stage stage = draft.stage(id);
    if (is_skipped(stage)) continue;
    if (stage->op->attrs.count(kAlwaysUnrollInner)) unroll_listed(&draft, id);
    if (has_reduce_loop(stage))
      draft.pragma(id, 0, "auto_unroll_max_step$" + std::to_string(kSteps[choose(random, choices)]));
  }
  *state = draft.finish();
  return true;
}

bool vectorize(const SketchPolicyNode& policy, State* state, Random* random) {
  Draft draft(*state, policy);
  for (int id = 0; id < static_cast<int>(draft->stages.size()); ++id) {
    const Stage stage = draft.stage(id);
    if (is_skipped(stage)) continue;
    int64_t length = 1;
    size_t count = 0;
    while (count < stage->iters.size()) {
      const int at = static_cast<int>(stage->iters.size() - 1 - count);
      const Iterator iter = stage->iters[StateNode::at(at)];
      if (draft->has_attached(id, at)) break;
      if (iter->iter_kind == IterKind::Reduction || iter->annotation != Annotation::None) break;
      if (is_tiled(stage) && count) break;  // two loops of a tile do not lie side by side in memory
      length *= std::max<int64_t>(extent_of(iter), 1);
      if (length > policy.params.max_vectorize_size) break;
      ++count;
    }
    if (count > 1) count = 1 + choose(random, count - 1);
    if (!count) continue;
    std::vector<int> loops;
    for (size_t i = 0; i < count; ++i) loops.push_back(static_cast<int>(stage->iters.size() - count + i));
    draft.annotate(id, count == 1 ? loops[0] : draft.fuse(id, loops), Annotation::Vectorize);
  }
  *state = draft.finish();
  return true;
}

}  // namespace

ChangeState fill_tile_sizes() { return fill; }
ChangeState change_compute_location() { return move_stages; }
ChangeState parallel_loops() { return parallel; }
ChangeState unroll_loops() { return unroll; }
ChangeState vectorize_loops() { return vectorize; }

std::vector<ChangeState> cpu_sample_rules() { return {fill, move_stages, parallel, unroll, vectorize}; }

}  // namespace tessera::auto_scheduler
