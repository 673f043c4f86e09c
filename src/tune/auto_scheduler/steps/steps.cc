// Steps by their kind, and what their rows share.

#include "tune/auto_scheduler/steps/steps.h"

#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {

const std::vector<StepRow>& step_rows() {
  static const std::vector<StepRow> kRows = [] {
    std::vector<StepRow> rows;
    for (auto list : {loop_step_rows(), split_step_rows(), stage_step_rows(), graph_step_rows()})
      rows.insert(rows.end(), list.begin(), list.end());
    return rows;
  }();
  return kRows;
}

const StepRow& row_of(const StepNode* step) {
  for (const StepRow& row : step_rows())
    if (step->type()->node == row.info) return row;
  throw Error(TypeError) << "auto_scheduler: " << step->type_key() << " is no step";
}

void check_stage(const StateNode* state, int stage) {
  if (stage < 0 || StateNode::at(stage) >= state->stages.size())
    throw Error(ValueError) << "auto_scheduler: there is no stage " << stage << "; the state has "
                            << state->stages.size();
}

void check_iter(const StateNode* state, int stage, int iter) {
  check_stage(state, stage);
  const Stage node = state->stages[StateNode::at(stage)];
  if (iter < 0 || StateNode::at(iter) >= node->iters.size())
    throw Error(ValueError) << "auto_scheduler: there is no loop " << iter << " in stage " << node->op->name
                            << "; it has " << node->iters.size();
}

void apply_step(StateNode* state, const Step& step, const ComputeDAGNode* dag) {
  const StepRow& row = row_of(step.get());
  check_stage(state, step->stage_id);
  state->transform_steps.push_back(step);
  row.to_state(step.get(), state, dag);
}

void reject_step(const StateNode* state, int stage, const std::string& why) {
  throw Error(ValueError) << "auto_scheduler: stage " << state->stages[StateNode::at(stage)]->op->name << ": " << why
                          << ". The state is\n"
                          << state_text(state);
}

// ---- replaying ---------------------------------------------------------------------------------------------

namespace {

std::vector<IterVar> axes_of(const te::Stage& stage) {
  auto* op = stage->op.as<te::ComputeOp>();
  if (!op) return {};
  std::vector<IterVar> out(op->axis.begin(), op->axis.end());
  out.insert(out.end(), op->reduce_axis.begin(), op->reduce_axis.end());
  return out;
}

}  // namespace

void Replay::reset_axes(size_t stage) { axes[stage] = axes_of(stages[stage]); }

void Replay::insert_stage(size_t position, const te::Stage& stage) {
  stages.insert(stages.begin() + static_cast<long>(position), stage);
  axes.insert(axes.begin() + static_cast<long>(position), axes_of(stage));
}

std::string op_name(const te::Stage& stage) { return clean_name(stage->op->name.str()); }

std::string axis_name(const te::Stage& stage, const IterVar& axis) {
  return clean_name(axis->var->name.str(), op_name(stage));
}

std::string axes_line(const te::Stage& stage, bool by_stage) {
  const std::string name = op_name(stage), op = by_stage ? "s[" + name + "].op" : name + ".op";
  std::string names;
  for (const IterVar& axis : axes_of(stage)) names += (names.empty() ? "" : ", ") + axis_name(stage, axis);
  return names + " = tuple(" + op + ".axis) + tuple(" + op + ".reduce_axis)\n";
}

// ---- numbers in records ------------------------------------------------------------------------------------

namespace {

const ObjectRef& item_at(const std::vector<ObjectRef>& items, size_t i) {
  if (i >= items.size()) throw Error(ValueError) << "a step has " << items.size() << " entries, and needs more";
  return items[i];
}

int64_t number(const ObjectRef& item, int64_t low, int64_t high) {
  int64_t value = 0;
  if (!item || !number_boxes.unbox_int(item.get(), &value))
    throw Error(ValueError) << "a step has no number where one is";
  if (value < low || value > high)
    throw Error(ValueError) << "a step has " << value << " where " << low << " to " << high << " may stand";
  return value;
}

}  // namespace

int64_t int_at(const std::vector<ObjectRef>& items, size_t i, int64_t low, int64_t high) {
  return number(item_at(items, i), low, high);
}

std::string text_at(const std::vector<ObjectRef>& items, size_t i) {
  auto* text = item_at(items, i).as<StringNode>();
  if (!text) throw Error(ValueError) << "a step has no text at position " << i;
  return text->text;
}

std::vector<int64_t> ints_at(const std::vector<ObjectRef>& items, size_t i, int64_t low, int64_t high) {
  auto* list = item_at(items, i).as<ArrayNode>();
  if (!list) throw Error(ValueError) << "a step has no list at position " << i;
  std::vector<int64_t> out;
  for (const ObjectRef& item : list->items) out.push_back(number(item, low, high));
  return out;
}

std::vector<int> ids_at(const std::vector<ObjectRef>& items, size_t i) {
  std::vector<int> out;
  for (int64_t id : ints_at(items, i, 0, 1 << 20)) out.push_back(static_cast<int>(id));
  return out;
}

namespace {

register_types<AnnotationStep, FuseStep, PragmaStep, ReorderStep, SplitStep, FollowSplitStep, FollowFusedSplitStep,
               StorageAlignStep, ComputeAtStep, ComputeInlineStep, ComputeRootStep, CacheReadStep, CacheWriteStep,
               RfactorStep>
    steps;

}  // namespace
}  // namespace tessera::auto_scheduler
