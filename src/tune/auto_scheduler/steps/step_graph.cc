// Steps that add stages: caches of what is read and written, and rfactor. The state takes the operations that the TE schedule
// has after the same steps.

#include "base/escape.h"
#include "tune/auto_scheduler/compute_dag.h"
#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {
namespace {

/// The stages of the DAG after all steps of `state`: `added` new ones from `first` on, loops of the others as they were. Those of
/// `remade` lose their loops too, since their operation has other axes.
void take_stages(StateNode* state, const ComputeDAGNode* dag, int first, int remade) {
  ComputeDAG next = make_compute_dag(replay_steps(dag, state->transform_steps, ReplayFor::Graph).schedule);
  const int added = static_cast<int>(next->ops.size()) - static_cast<int>(state->stages.size());
  for (int i = 0; i < added; ++i)
    state->stages.insert(StateNode::at(first + i), initial_stage(next->ops[StateNode::at(first + i)]));
  for (size_t i = 0; i < state->stages.size(); ++i) {
    const int id = static_cast<int>(i);
    if (id >= first && id < first + added) continue;
    if (id == remade) {
      const ComputeAt where = state->stages[i]->compute_at;
      StageNode stage(*initial_stage(next->ops[i]));
      stage.compute_at = where;
      state->stages.set(i, make(std::move(stage)));
    } else if (!state->stages[i]->op.same_as(next->ops[i])) {
      edit_stage(state, id, [&](StageNode* stage) { stage->op = next->ops[i]; });
    }
  }
  state->shift_stages(first, added);
  state->current_dag = next;
}

StepRow cache_read_row() {
  return {&CacheReadStep::info,
          "CHR",
          [](const StepNode* node, StateNode* state, const ComputeDAGNode* dag) {
            auto* step = static_cast<const CacheReadStep*>(node);
            for (int reader : step->reader_stage_ids) check_stage(state, reader);
            take_stages(state, dag, step->stage_id + 1, -1);
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const CacheReadStep*>(node);
            te::Stage stage = stage_of(step, replay);
            Array<te::Operation> readers;
            std::string names;
            for (int id : step->reader_stage_ids) {
              if (StateNode::at(id) >= replay->stages.size())
                throw Error(ValueError) << "auto_scheduler: cache_read names a stage that is not there";
              te::Stage reader = replay->stages[StateNode::at(id)];
              readers.push_back(reader->origin_op);
              names += (names.empty() ? "" : ", ") + op_name(reader);
            }
            te::Tensor cache =
                te::cache_read(replay->schedule, te::output(stage->origin_op, 0), step->scope_name, readers);
            te::Stage added = te::stage_of(replay->schedule, cache->op);
            replay->insert_stage(StateNode::at(step->stage_id) + 1, added);
            if (!replay->writes_python) return;
            replay->python += op_name(added) + " = s.cache_read(" + op_name(stage) + ", \"" + step->scope_name.str() +
                              "\", [" + names + "])\n";
            std::string axes;
            for (const IterVar& axis : replay->axes[StateNode::at(step->stage_id) + 1])
              axes += (axes.empty() ? "" : ", ") + axis_name(added, axis);
            replay->python += axes + " = tuple(" + op_name(added) + ".op.axis)\n";
          },
          [](const StepNode* node) {
            auto* step = static_cast<const CacheReadStep*>(node);
            return numbers_text(step->stage_id) + ", " + escaped(step->scope_name, "\\u00") + ", " +
                   list_text(step->reader_stage_ids);
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            CacheReadStep step;
            step.stage_id = id_at(items, 1);
            step.scope_name = text_at(items, 2);
            step.reader_stage_ids = ids_at(items, 3);
            return make(std::move(step));
          }};
}

StepRow cache_write_row() {
  return {&CacheWriteStep::info,
          "CHW",
          [](const StepNode* step, StateNode* state, const ComputeDAGNode* dag) {
            take_stages(state, dag, step->stage_id, step->stage_id + 1);
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const CacheWriteStep*>(node);
            const size_t id = StateNode::at(step->stage_id);
            te::Stage stage = replay->stages[id];
            const std::string name = op_name(stage);
            Array<te::Tensor> tensors;
            for (int i = 0; i < te::num_outputs(stage->origin_op.get()); ++i)
              tensors.push_back(te::output(stage->origin_op, i));
            Array<te::Tensor> caches = te::cache_write(replay->schedule, tensors, step->scope_name);
            te::Stage added = te::stage_of(replay->schedule, caches[0]->op);
            replay->reset_axes(id);
            replay->insert_stage(id, added);
            if (!replay->writes_python) return;
            for (const te::Tensor& cache : caches) replay->python += clean_name(cache->op->name.str()) + ", ";
            replay->python.pop_back();
            replay->python += " = s.cache_write([" + name;
            for (size_t i = 1; i < caches.size(); ++i) replay->python += ", " + name;
            replay->python += "], \"" + step->scope_name.str() + "\")\n" + axes_line(added);
          },
          [](const StepNode* node) {
            auto* step = static_cast<const CacheWriteStep*>(node);
            return numbers_text(step->stage_id) + ", " + escaped(step->scope_name, "\\u00");
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            CacheWriteStep step;
            step.stage_id = id_at(items, 1);
            step.scope_name = text_at(items, 2);
            return make(std::move(step));
          }};
}

StepRow rfactor_row() {
  return {&RfactorStep::info,
          "RF",
          [](const StepNode* node, StateNode* state, const ComputeDAGNode* dag) {
            auto* step = static_cast<const RfactorStep*>(node);
            check_iter(state, step->stage_id, step->iter_id);
            take_stages(state, dag, step->stage_id, step->stage_id + 1);
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const RfactorStep*>(node);
            const size_t id = StateNode::at(step->stage_id);
            if (StateNode::at(step->iter_id) >= replay->axes[id].size())
              throw Error(ValueError) << "auto_scheduler: rfactor names a loop that is not there";
            te::Stage stage = replay->stages[id];
            const std::string name = op_name(stage);
            IterVar axis = replay->axes[id][StateNode::at(step->iter_id)];
            Array<te::Tensor> parts =
                te::rfactor(replay->schedule, te::output(stage->origin_op, 0), axis, step->factor_iter_id);
            te::Stage added = te::stage_of(replay->schedule, parts[0]->op);
            replay->reset_axes(id);
            replay->insert_stage(id, added);
            if (!replay->writes_python) return;
            replay->python += op_name(added) + " = s.rfactor(" + name + ", " + clean_name(axis->var->name.str()) +
                              ", " + std::to_string(step->factor_iter_id) + ")\n" + axes_line(added) +
                              axes_line(stage, true);
          },
          [](const StepNode* node) {
            auto* step = static_cast<const RfactorStep*>(node);
            return numbers_text(step->stage_id, step->iter_id, step->factor_iter_id);
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            RfactorStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.factor_iter_id = id_at(items, 3);
            return make(std::move(step));
          }};
}

}  // namespace

std::vector<StepRow> graph_step_rows() { return {cache_read_row(), cache_write_row(), rfactor_row()}; }

}  // namespace tessera::auto_scheduler
