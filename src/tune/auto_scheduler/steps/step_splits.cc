// Steps that split loops: by lengths of their own, or by those of steps before them.

#include "ir/prim/ops.h"
#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {

std::vector<int64_t> lengths_to_follow(const FollowSplitStep* step, const Array<Step>& steps) {
  const size_t source = StateNode::at(step->src_step_id);
  auto* split = source < steps.size() ? steps[source].as<SplitStep>() : nullptr;
  if (!split) throw Error(ValueError) << "auto_scheduler: step " << source << ", which is to be followed, is no split";
  const size_t count = StateNode::at(step->n_split);
  if (count < 1 || count > split->lengths.size() + 1)
    throw Error(ValueError) << "auto_scheduler: a split in " << count << " cannot follow one in "
                            << split->lengths.size() + 1;
  std::vector<int64_t> out(split->lengths.begin(), split->lengths.begin() + static_cast<long>(count - 1));
  int64_t last = 1;
  for (size_t i = count - 1; i < split->lengths.size(); ++i) last *= split->lengths[i];
  out.push_back(last);
  return out;
}

int64_t length_to_follow(const FollowFusedSplitStep* step, const Array<Step>& steps) {
  int64_t out = 1;
  for (int source : step->src_step_ids) {
    auto* split = StateNode::at(source) < steps.size() ? steps[StateNode::at(source)].as<SplitStep>() : nullptr;
    if (!split || StateNode::at(step->level) >= split->lengths.size())
      throw Error(ValueError) << "auto_scheduler: step " << source << ", which is to be followed, has no such split";
    out *= split->lengths[StateNode::at(step->level)];
  }
  return out;
}

void split_state(StateNode* state, int stage, int position, const std::vector<int64_t>& lengths, bool inner_to_outer) {
  check_iter(state, stage, position);
  const Iterator parent = state->iter(stage, position);
  PrimExpr min = parent->range ? parent->range->min : PrimExpr();
  PrimExpr extent = parent->range ? parent->range->extent : PrimExpr();
  const size_t count = lengths.size();
  std::vector<Iterator> loops(count + 1);
  auto add = [&](size_t number, int64_t length) {
    IteratorNode node;
    node.name = parent->name + "." + std::to_string(number);
    node.iter_kind = parent->iter_kind;
    if (length && min) {
      node.range = make_range(min, int_imm(extent.dtype(), length));
      min = int_imm(extent.dtype(), 0);
      PrimExpr by = int_imm(extent.dtype(), length);
      extent = indexdiv(extent + by - int_imm(extent.dtype(), 1), by);
    } else {
      min = extent = PrimExpr();
      if (!length) state->concrete = false;
    }
    loops[number] = make(std::move(node));
  };
  for (size_t i = 0; i < count; ++i) {
    if (inner_to_outer) add(count - i, lengths[count - i - 1]);
    else add(i, lengths[i]);
  }
  IteratorNode rest;
  rest.name = parent->name + "." + std::to_string(inner_to_outer ? 0 : count);
  rest.iter_kind = parent->iter_kind;
  if (min) rest.range = make_range(min, extent);
  loops[inner_to_outer ? 0 : count] = make(std::move(rest));
  edit_stage(state, stage, [&](StageNode* node) {
    node->iters.set(StateNode::at(position), loops[0]);
    for (size_t i = 1; i < loops.size(); ++i) node->iters.insert(StateNode::at(position) + i, loops[i]);
  });
  const int more = static_cast<int>(count);
  state->move_iters(stage, [&](int iter) { return iter >= position ? iter + more : iter; });
}

void split_schedule(Replay* replay, int stage_id, int position, const std::vector<int64_t>& lengths,
                    bool inner_to_outer) {
  te::Stage stage = replay->stages[StateNode::at(stage_id)];
  std::vector<IterVar>& axes = replay->axes[StateNode::at(stage_id)];
  IterVar parent = axes[StateNode::at(position)], rest = parent;
  const size_t count = lengths.size();
  std::vector<IterVar> loops(count + 1);
  for (size_t i = 0; i < count; ++i) {
    int64_t length = lengths[inner_to_outer ? count - i - 1 : i];
    if (!length && replay->only_graph) length = 1;
    if (!length)
      throw Error(ValueError) << "auto_scheduler: a split of stage " << stage->op->name
                              << " has no length yet; states of sketches must be sampled first";
    PrimExpr by = int_imm(DataType::Int(32), length);
    if (inner_to_outer) {
      auto [outer, inner] = te::split(stage, rest, by, PrimExpr());
      loops[count - i] = inner;
      rest = outer;
    } else {
      auto [outer, inner] = te::split(stage, rest, PrimExpr(), by);
      loops[i] = outer;
      rest = inner;
    }
  }
  loops[inner_to_outer ? 0 : count] = rest;
  if (replay->writes_python) {
    IterVar to_split = parent;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = inner_to_outer ? count - 1 - i : i;
      const IterVar &outer = loops[at], &inner = loops[at + 1];
      replay->python += axis_name(stage, outer) + ", " + axis_name(stage, inner) + " = s[" + op_name(stage) +
                        "].split(" + axis_name(stage, to_split) + (inner_to_outer ? ", factor=" : ", nparts=") +
                        std::to_string(lengths[at]) + ")\n";
      to_split = inner_to_outer ? outer : inner;
    }
  }
  axes.erase(axes.begin() + position);
  axes.insert(axes.begin() + position, loops.begin(), loops.end());
}

namespace {

constexpr int64_t kMaxLength = int64_t{1} << 40;

StepRow split_row() {
  return {&SplitStep::info,
          "SP",
          [](const StepNode* node, StateNode* state, const ComputeDAGNode*) {
            auto* step = static_cast<const SplitStep*>(node);
            split_state(state, step->stage_id, step->iter_id, step->lengths, step->inner_to_outer);
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const SplitStep*>(node);
            split_schedule(replay, step->stage_id, step->iter_id, step->lengths, step->inner_to_outer);
          },
          [](const StepNode* node) {
            auto* step = static_cast<const SplitStep*>(node);
            return numbers_text(step->stage_id, step->iter_id, step->extent) + ", " + list_text(step->lengths) + ", " +
                   numbers_text(int{step->inner_to_outer});
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            SplitStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.extent = int_at(items, 3, 0, kMaxLength);
            step.lengths = ints_at(items, 4, 0, INT32_MAX);
            step.inner_to_outer = int_at(items, 5, 0, 1) != 0;
            return make(std::move(step));
          }};
}

StepRow follow_row() {
  return {&FollowSplitStep::info,
          "FSP",
          [](const StepNode* node, StateNode* state, const ComputeDAGNode*) {
            auto* step = static_cast<const FollowSplitStep*>(node);
            split_state(state, step->stage_id, step->iter_id, lengths_to_follow(step, state->transform_steps), true);
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const FollowSplitStep*>(node);
            split_schedule(replay, step->stage_id, step->iter_id, lengths_to_follow(step, *replay->steps), true);
          },
          [](const StepNode* node) {
            auto* step = static_cast<const FollowSplitStep*>(node);
            return numbers_text(step->stage_id, step->iter_id, step->src_step_id, step->n_split);
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            FollowSplitStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.src_step_id = id_at(items, 3);
            step.n_split = id_at(items, 4);
            return make(std::move(step));
          }};
}

StepRow follow_fused_row() {
  return {&FollowFusedSplitStep::info,
          "FFSP",
          [](const StepNode* node, StateNode* state, const ComputeDAGNode*) {
            auto* step = static_cast<const FollowFusedSplitStep*>(node);
            split_state(state, step->stage_id, step->iter_id, {length_to_follow(step, state->transform_steps)},
                        step->factor_or_nparts);
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const FollowFusedSplitStep*>(node);
            split_schedule(replay, step->stage_id, step->iter_id, {length_to_follow(step, *replay->steps)},
                           step->factor_or_nparts);
          },
          [](const StepNode* node) {
            auto* step = static_cast<const FollowFusedSplitStep*>(node);
            return numbers_text(step->stage_id, step->iter_id) + ", " + list_text(step->src_step_ids) + ", " +
                   numbers_text(step->level, int{step->factor_or_nparts});
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            FollowFusedSplitStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.src_step_ids = ids_at(items, 3);
            step.level = id_at(items, 4);
            step.factor_or_nparts = int_at(items, 5, 0, 1) != 0;
            return make(std::move(step));
          }};
}

}  // namespace

std::vector<StepRow> split_step_rows() { return {split_row(), follow_row(), follow_fused_row()}; }

}  // namespace tessera::auto_scheduler
