// Questions that rules ask about states.

#include <algorithm>

#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {

namespace {

/// The DAG that a state is of now; it is kept alive by the state or by the policy.
const ComputeDAGNode* dag_of(const SketchPolicyNode& policy, const State& state) {
  return state->current_dag ? static_cast<const ComputeDAGNode*>(state->current_dag.get()) : policy.dag();
}

int stage_of_op(const State& state, const te::Operation& op) {
  for (size_t i = 0; i < state->stages.size(); ++i)
    if (state->stages[i]->op.same_as(op)) return static_cast<int>(i);
  return -1;
}

}  // namespace

const OpFacts& facts_of(const SketchPolicyNode& policy, const State& state, int stage) {
  return dag_of(policy, state)->accesses.of(state->stages[StateNode::at(stage)]->op);
}

bool needs_tiling(const SketchPolicyNode& policy, const State& state, int stage) {
  return facts_of(policy, state, stage).needs_multi_level_tiling;
}

bool has_reduce_loop(const Stage& stage) {
  for (const Iterator& iter : stage->iters)
    if (iter->iter_kind != IterKind::Spatial) return true;
  return false;
}

bool is_tiled(const Stage& stage) {
  auto* op = stage->op.as<te::ComputeOp>();
  return op && stage->iters.size() != op->axis.size() + op->reduce_axis.size();
}

bool has_cache_write(const State& state, int stage) {
  for (int i = static_cast<int>(state->transform_steps.size()) - 1; i >= 0; --i) {
    const Step step = state->transform_steps[StateNode::at(i)];
    if (step.as<CacheWriteStep>() && step->stage_id == stage) return true;
    if (is_stage_adding(step) && step->stage_id < stage) --stage;
  }
  return false;
}

bool is_stage_adding(const Step& step) {
  return step.as<CacheReadStep>() || step.as<CacheWriteStep>() || step.as<RfactorStep>();
}

bool has_rfactor(const State& state, int stage) {
  for (int i = static_cast<int>(state->transform_steps.size()) - 1; i >= 0; --i) {
    const Step step = state->transform_steps[StateNode::at(i)];
    if (step.as<RfactorStep>() && step->stage_id == stage) return true;
    if (is_stage_adding(step) && step->stage_id < stage) --stage;
  }
  return false;
}

bool has_cross_thread_reduction(const State& state, int stage) {
  for (const Iterator& iter : state->stages[StateNode::at(stage)]->iters)
    if (iter->iter_kind == IterKind::Reduction && iter->annotation == Annotation::ThreadX) return true;
  return false;
}

bool has_annotation(const Stage& stage, Annotation annotation) {
  return std::any_of(stage->iters.begin(), stage->iters.end(),
                     [&](const Iterator& iter) { return iter->annotation == annotation; });
}

void add_original_names(const std::string& name, std::set<std::string>* out) {
  size_t last = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '@' || name[i] == '.') {
      const std::string part = name.substr(last, i - last);
      const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
      if (!part.empty() && !is_number) out->insert(part);
      last = i + 1;
    }
  }
  const std::string rest = name.substr(last);
  if (!rest.empty() && rest.find_first_not_of("0123456789") != std::string::npos) out->insert(rest);
}

std::set<std::string> names_in_attr(const Stage& stage, const char* key) {
  std::set<std::string> out;
  ObjectRef value = stage->op->attrs.get_or_null(key);
  if (auto* list = value.as<ArrayNode>())
    for (const ObjectRef& item : list->items)
      if (auto* text = item.as<StringNode>()) out.insert(text->text);
  return out;
}

std::set<int> consumers_of(const SketchPolicyNode& policy, const State& state, int stage) {
  const ComputeDAGNode* dag = dag_of(policy, state);
  std::set<int> out;
  std::vector<te::Operation> pending{state->stages[StateNode::at(stage)]->op};
  while (!pending.empty()) {
    te::Operation op = pending.back();
    pending.pop_back();
    for (const te::Operation& consumer : dag->accesses.of(op).consumers) {
      const int id = stage_of_op(state, consumer);
      if (id < 0) continue;
      if (state->stages[StateNode::at(id)]->compute_at == ComputeAt::Inlined) pending.push_back(consumer);
      else out.insert(id);
    }
  }
  return out;
}

std::set<int> producers_of(const SketchPolicyNode& policy, const State& state, int stage, bool only_direct) {
  const ComputeDAGNode* dag = dag_of(policy, state);
  std::set<int> out;
  std::vector<te::Operation> pending{state->stages[StateNode::at(stage)]->op};
  while (!pending.empty()) {
    te::Operation op = pending.back();
    pending.pop_back();
    for (const auto& [producer, accesses] : dag->accesses.of(op).reads) {
      const int id = stage_of_op(state, producer);
      if (id < 0) continue;
      if (!only_direct && state->stages[StateNode::at(id)]->compute_at == ComputeAt::Inlined)
        pending.push_back(producer);
      else out.insert(id);
    }
  }
  return out;
}

int single_consumer(const SketchPolicyNode& policy, const State& state, int stage) {
  const std::set<int> consumers = consumers_of(policy, state, stage);
  if (consumers.empty()) return -1;
  if (consumers.size() == 1) return *consumers.begin();
  // Several count as one where they are all computed inside the same stage.
  std::set<int> roots;
  for (int consumer : consumers) {
    const Attachment* at = state->attachment_of(consumer);
    roots.insert(at ? at->target : consumer);
  }
  return roots.size() == 1 ? *roots.begin() : -1;
}

int common_outer_loops(const SketchPolicyNode& policy, const State& state, int stage, int target) {
  const ComputeDAGNode* dag = dag_of(policy, state);
  // Along the way through inlined stages, the minimum that two neighbours share.
  const te::Operation goal = state->stages[StateNode::at(target)]->op;
  int least = INT32_MAX;
  bool found = false;
  std::vector<std::pair<te::Operation, int>> pending{{state->stages[StateNode::at(stage)]->op, INT32_MAX}};
  while (!pending.empty()) {
    auto [op, count] = pending.back();
    pending.pop_back();
    if (op.same_as(goal)) {
      found = true;
      least = std::min(least, count);
      continue;
    }
    for (const te::Operation& consumer : dag->accesses.of(op).consumers)
      pending.emplace_back(consumer, std::min(count, dag->accesses.common_outer_axes(op, consumer)));
  }
  return found ? least : 0;
}

int elementwise_consumer(const SketchPolicyNode& policy, const State& state, int stage) {
  const std::set<int> consumers = consumers_of(policy, state, stage);
  if (consumers.size() != 1) return -1;
  const Stage own = state->stages[StateNode::at(stage)], other = state->stages[StateNode::at(*consumers.begin())];
  const bool matches = dag_of(policy, state)->accesses.is_elementwise_match(own->op, other->op) &&
                       !(has_reduce_loop(own) && has_reduce_loop(other)) &&
                       !std::string_view(other->op->name).ends_with(".shared");
  return matches ? *consumers.begin() : -1;
}

std::pair<int64_t, int64_t> space_and_reduce_lengths(const Stage& stage) {
  int64_t space = 1, reduce = 1;
  for (const Iterator& iter : stage->iters) {
    int64_t& product = iter->iter_kind == IterKind::Spatial ? space : reduce;
    const int64_t extent = extent_of(iter);
    if (extent < 0 || product < 0) product = -1;
    else product *= extent;
  }
  return {space, reduce};
}

std::vector<int> space_split_steps(const State& state, int stage) {
  auto* op = state->stages[StateNode::at(stage)]->op.as<te::ComputeOp>();
  if (!op) return {};
  std::vector<int> out;
  const std::set<std::string> kept = names_in_attr(state->stages[StateNode::at(stage)], kNoSplitAtInner);
  int reduce_splits = 0;  // those come after the ones of space loops
  for (const IterVar& axis : op->reduce_axis) reduce_splits += !kept.count(axis->var->name.str());
  for (int i = static_cast<int>(state->transform_steps.size()) - 1; i >= 0; --i) {
    const Step step = state->transform_steps[StateNode::at(i)];
    if (is_stage_adding(step)) {
      if (step->stage_id < stage) --stage;
    } else if (step->stage_id != stage) {
      continue;
    } else if (auto* follow = step.as<FollowSplitStep>()) {
      out.push_back(follow->src_step_id);
    } else if (step.as<SplitStep>()) {
      if (reduce_splits) --reduce_splits;
      else out.push_back(i);
    }
  }
  return out;
}

}  // namespace tessera::auto_scheduler
