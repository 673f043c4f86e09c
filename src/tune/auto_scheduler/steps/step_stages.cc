// Steps about where stages are computed.

#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {
namespace {

/// Bounds depend on where a stage is computed, so that they are no longer known.
void forget_ranges(StageNode* stage) {
  Array<Iterator> iters;
  for (const Iterator& iter : stage->iters) {
    IteratorNode node(*iter);
    node.range = Range();
    iters.push_back(make(std::move(node)));
  }
  stage->iters = iters;
}

StepRow compute_at_row() {
  return {
      &ComputeAtStep::info,
      "CA",
      [](const StepNode* node, StateNode* state, const ComputeDAGNode*) {
        auto* step = static_cast<const ComputeAtStep*>(node);
        check_iter(state, step->target_stage_id, step->target_iter_id);
        edit_stage(state, step->stage_id, [](StageNode* stage) {
          forget_ranges(stage);
          stage->compute_at = ComputeAt::Iter;
        });
        state->attach(step->stage_id, step->target_stage_id, step->target_iter_id);
      },
      [](const StepNode* node, Replay* replay) {
        auto* step = static_cast<const ComputeAtStep*>(node);
        const size_t target_id = StateNode::at(step->target_stage_id);
        if (target_id >= replay->stages.size() || StateNode::at(step->target_iter_id) >= replay->axes[target_id].size())
          throw Error(ValueError) << "auto_scheduler: compute_at names a loop that is not there";
        te::Stage stage = stage_of(step, replay), target = replay->stages[target_id];
        IterVar axis = replay->axes[target_id][StateNode::at(step->target_iter_id)];
        te::compute_at(stage, target, axis);
        if (replay->writes_python)
          replay->python +=
              "s[" + op_name(stage) + "].compute_at(s[" + op_name(target) + "], " + axis_name(target, axis) + ")\n";
      },
      [](const StepNode* node) {
        auto* step = static_cast<const ComputeAtStep*>(node);
        return numbers_text(step->stage_id, step->target_stage_id, step->target_iter_id);
      },
      [](const std::vector<ObjectRef>& items) -> Step {
        ComputeAtStep step;
        step.stage_id = id_at(items, 1);
        step.target_stage_id = id_at(items, 2);
        step.target_iter_id = id_at(items, 3);
        return make(std::move(step));
      }};
}

std::string write_stage(const StepNode* node) { return numbers_text(node->stage_id); }

StepRow compute_inline_row() {
  return {&ComputeInlineStep::info,
          "CI",
          [](const StepNode* step, StateNode* state, const ComputeDAGNode*) {
            for (const Attachment& each : state->attachments)
              if (each.target == step->stage_id)
                reject_step(state, step->stage_id, "Invalid compute_inline: other stages are attached to it");
            edit_stage(state, step->stage_id, [](StageNode* stage) { stage->compute_at = ComputeAt::Inlined; });
            state->detach(step->stage_id);
          },
          [](const StepNode* step, Replay* replay) {
            te::Stage stage = stage_of(step, replay);
            te::compute_inline(stage);
            if (replay->writes_python) replay->python += "s[" + op_name(stage) + "].compute_inline()\n";
          },
          write_stage,
          [](const std::vector<ObjectRef>& items) -> Step {
            ComputeInlineStep step;
            step.stage_id = id_at(items, 1);
            return make(std::move(step));
          }};
}

StepRow compute_root_row() {
  return {&ComputeRootStep::info,
          "CR",
          [](const StepNode* step, StateNode* state, const ComputeDAGNode*) {
            edit_stage(state, step->stage_id, [](StageNode* stage) {
              forget_ranges(stage);
              stage->compute_at = ComputeAt::Root;
            });
            state->detach(step->stage_id);
          },
          [](const StepNode* step, Replay* replay) {
            te::Stage stage = stage_of(step, replay);
            te::compute_root(stage);
            if (replay->writes_python) replay->python += "s[" + op_name(stage) + "].compute_root()\n";
          },
          write_stage,
          [](const std::vector<ObjectRef>& items) -> Step {
            ComputeRootStep step;
            step.stage_id = id_at(items, 1);
            return make(std::move(step));
          }};
}

}  // namespace

std::vector<StepRow> stage_step_rows() { return {compute_at_row(), compute_inline_row(), compute_root_row()}; }

}  // namespace tessera::auto_scheduler
