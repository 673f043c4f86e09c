// Mutations of states: tile sizes, unrolling, where stages are computed, how much is parallel.

#include <algorithm>
#include <numeric>

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

void set_step(State* state, size_t at, const Step& step) {
  StateNode out(**state);
  out.transform_steps.set(at, step);
  *state = make(std::move(out));
}

/// Moves a factor from one level of a split to another.
bool mutate_tile_size(const SketchPolicyNode& policy, State* state, Random* random) {
  const int64_t most = policy.params.max_innermost_split_factor;
  std::vector<size_t> splits;
  for (size_t i = 0; i < (*state)->transform_steps.size(); ++i) {
    auto* split = (*state)->transform_steps[i].as<SplitStep>();
    if (split && split->extent > 1 && !split->lengths.empty() && split->lengths.back() <= most) splits.push_back(i);
  }
  if (splits.empty()) return false;
  const size_t at = splits[choose(random, splits.size())];
  auto* split = (*state)->transform_steps[at].as<SplitStep>();
  std::vector<int64_t> lengths{1};
  lengths.insert(lengths.end(), split->lengths.begin(), split->lengths.end());
  const int64_t inner = std::accumulate(lengths.begin(), lengths.end(), int64_t{1}, std::multiplies<>());
  lengths[0] = (split->extent + inner - 1) / inner;
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *random);
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t from = order[i], to = order[(i + 1) % order.size()];
    if (lengths[from] <= 1 || from == to) continue;
    std::vector<int64_t> factors = divisors(lengths[from]);
    if (to + 1 == lengths.size()) std::erase_if(factors, [&](int64_t factor) { return factor * lengths[to] > most; });
    if (factors.size() < 2) continue;
    const int64_t factor = factors[1 + choose(random, factors.size() - 1)];
    lengths[from] /= factor;
    lengths[to] *= factor;
    SplitStep changed(*split);
    changed.lengths.assign(lengths.begin() + 1, lengths.end());
    set_step(state, at, make(std::move(changed)));
    return true;
  }
  return false;
}

bool mutate_auto_unroll(const SketchPolicyNode& policy, State* state, Random* random) {
  static constexpr int kSteps[] = {0, 16, 64, 512, 1024};
  std::vector<size_t> pragmas;
  for (size_t i = 0; i < (*state)->transform_steps.size(); ++i) {
    auto* pragma = (*state)->transform_steps[i].as<PragmaStep>();
    if (pragma && std::string_view(pragma->pragma_type).starts_with("auto_unroll_max_step")) pragmas.push_back(i);
  }
  if (pragmas.empty()) return false;
  const size_t at = pragmas[choose(random, pragmas.size())];
  const int steps = kSteps[choose(random, policy.task->is_gpu() ? 5 : 4)];
  PragmaStep changed(*(*state)->transform_steps[at].as<PragmaStep>());
  changed.pragma_type = "auto_unroll_max_step$" + std::to_string(steps);
  StateNode out(**state);
  edit_stage(&out, changed.stage_id, [&](StageNode* stage) { stage->auto_unroll_max_step = steps; });
  out.transform_steps.set(at, make(std::move(changed)));
  *state = make(std::move(out));
  return true;
}

/// The state after other steps, from the beginning.
bool replay_state(const SketchPolicyNode& policy, const std::vector<Step>& steps, State* out) {
  try {
    StateNode node(*policy.dag()->init_state);
    for (const Step& step : steps) apply_step(&node, step, policy.dag());
    *out = make(std::move(node));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// How many stages steps after `at` add before that stage.
int stages_added_later(const State& state, size_t at, int stage) {
  int now = stage;
  for (size_t i = at + 1; i < state->transform_steps.size(); ++i) {
    const Step step = state->transform_steps[i];
    if (is_stage_adding(step) && step->stage_id + (step.as<CacheReadStep>() ? 1 : 0) <= now) ++now;
  }
  return now - stage;
}

bool mutate_compute_location(const SketchPolicyNode& policy, State* state, Random* random) {
  std::vector<size_t> steps_found;
  for (size_t i = 0; i < (*state)->transform_steps.size(); ++i) {
    auto* step = (*state)->transform_steps[i].as<ComputeAtStep>();
    if (!step) continue;
    const int id = step->stage_id + stages_added_later(*state, i, step->stage_id);
    if (!is_tiled(stage_at(*state, id)) && !needs_tiling(policy, *state, id)) steps_found.push_back(i);
  }
  if (steps_found.empty()) return false;
  const size_t at = steps_found[choose(random, steps_found.size())];
  auto* step = (*state)->transform_steps[at].as<ComputeAtStep>();
  const int added = stages_added_later(*state, at, step->stage_id);
  const auto choices = compute_locations(policy, *state, step->stage_id + added);
  if (choices.empty()) return false;
  const auto [target, iter] = choices[choose(random, choices.size())];
  std::vector<Step> steps = (*state)->transform_steps.vec();
  ComputeAtStep changed(*step);
  changed.target_stage_id = target - added;
  changed.target_iter_id = iter;
  if (changed.target_stage_id < 0) return false;
  steps[at] = make(std::move(changed));
  return replay_state(policy, steps, state);
}

/// Fuses more or fewer loops before the outermost one is run in parallel.
bool mutate_parallel(const SketchPolicyNode& policy, State* state, Random* random) {
  const std::vector<Step> steps = (*state)->transform_steps.vec();
  std::vector<size_t> steps_found;
  for (size_t i = 1; i < steps.size(); ++i) {
    auto* step = steps[i].as<AnnotationStep>();
    auto* fuse = steps[i - 1].as<FuseStep>();
    if (step && step->annotation == Annotation::Parallel && step->iter_id == 0 && fuse &&
        fuse->stage_id == step->stage_id)
      steps_found.push_back(i);
  }
  if (steps_found.empty()) return false;
  const size_t at = steps_found[choose(random, steps_found.size())];
  auto* fuse = steps[at - 1].as<FuseStep>();
  const int id = fuse->stage_id;
  State before;
  if (!replay_state(policy, {steps.begin(), steps.begin() + static_cast<long>(at) - 1}, &before)) return false;
  size_t most = 0;
  for (const Iterator& iter : stage_at(before, id)->iters) {
    if (iter->iter_kind == IterKind::Reduction || iter->annotation != Annotation::None) break;
    ++most;
    if (before->has_attached(id, static_cast<int>(most) - 1)) break;
  }
  if (most <= 1) return false;
  const size_t count = 1 + choose(random, most);
  const int offset = static_cast<int>(fuse->fused_ids.size()) - static_cast<int>(count);
  if (!offset) return false;
  std::vector<Step> changed(steps.begin(), steps.begin() + static_cast<long>(at) - 1);
  FuseStep fused(*fuse);
  fused.fused_ids.resize(count);
  std::iota(fused.fused_ids.begin(), fused.fused_ids.end(), 0);
  changed.push_back(make(std::move(fused)));
  changed.push_back(steps[at]);
  for (size_t i = at + 1; i < steps.size(); ++i) {
    Step step = steps[i];
    if (is_stage_adding(step)) return false;
    if (step->stage_id == id) {
      if (auto* annotation = step.as<AnnotationStep>()) {
        AnnotationStep moved(*annotation);
        if (moved.iter_id) moved.iter_id += offset;
        step = make(std::move(moved));
      } else if (auto* pragma = step.as<PragmaStep>()) {
        PragmaStep moved(*pragma);
        if (moved.iter_id) moved.iter_id += offset;
        step = make(std::move(moved));
      } else {
        return false;
      }
    } else if (auto* at_loop = step.as<ComputeAtStep>(); at_loop && at_loop->target_stage_id == id) {
      return false;
    }
    changed.push_back(step);
  }
  return replay_state(policy, changed, state);
}

}  // namespace

std::vector<MutationRule> mutation_rules(bool is_gpu) {
  if (is_gpu) return {{mutate_tile_size, 0.90}, {mutate_auto_unroll, 0.10}};
  return {
      {mutate_tile_size, 0.90}, {mutate_auto_unroll, 0.04}, {mutate_compute_location, 0.05}, {mutate_parallel, 0.01}};
}

}  // namespace tessera::auto_scheduler
