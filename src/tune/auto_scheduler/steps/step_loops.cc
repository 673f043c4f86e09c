// Steps about loops: annotations, fuse, pragmas, reorder, storage_align.

#include <algorithm>

#include "base/escape.h"
#include "ir/prim/ops.h"
#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {
namespace {

IterVar axis_at(const StepNode* step, int iter, const Replay* replay) {
  const std::vector<IterVar>& axes = replay->axes[StateNode::at(step->stage_id)];
  if (StateNode::at(iter) >= axes.size())
    throw Error(ValueError) << "auto_scheduler: there is no loop " << iter << " in stage "
                            << stage_of(step, replay)->op->name;
  return axes[StateNode::at(iter)];
}

void say(Replay* replay, const StepNode* step, const std::string& call) {
  if (replay->writes_python) replay->python += "s[" + op_name(stage_of(step, replay)) + "]." + call + "\n";
}

// ---- annotation --------------------------------------------------------------------------------------------

void annotate_state(const StepNode* node, StateNode* state, const ComputeDAGNode*) {
  auto* step = static_cast<const AnnotationStep*>(node);
  check_iter(state, step->stage_id, step->iter_id);
  if (state->iter(step->stage_id, step->iter_id)->annotation != Annotation::None)
    reject_step(state, step->stage_id,
                "loop " + state->iter(step->stage_id, step->iter_id)->name.str() + " is annotated already");
  edit_iter(state, step->stage_id, step->iter_id, [&](IteratorNode* iter) { iter->annotation = step->annotation; });
}

void annotate_schedule(const StepNode* node, Replay* replay) {
  auto* step = static_cast<const AnnotationStep*>(node);
  te::Stage stage = stage_of(step, replay);
  IterVar axis = axis_at(step, step->iter_id, replay);
  const std::string name = axis_name(stage, axis), word = annotation_name(step->annotation);
  auto kind = [&](IterType type) {
    te::set_loop_kind(stage, axis, type);
    say(replay, step, word + "(" + name + ")");
  };
  switch (step->annotation) {
    case Annotation::None:
    case Annotation::Tensorize: return;
    case Annotation::Unroll: return kind(IterType::Unrolled);
    case Annotation::Vectorize: return kind(IterType::Vectorized);
    case Annotation::Parallel: return kind(IterType::Parallelized);
    default: break;
  }
  te::bind(stage, axis, te::thread_axis(Range(), word));
  say(replay, step, "bind(" + name + ", te.thread_axis(\"" + word + "\"))");
}

StepRow annotation_row() {
  return {&AnnotationStep::info,
          "AN",
          annotate_state,
          annotate_schedule,
          [](const StepNode* node) {
            auto* step = static_cast<const AnnotationStep*>(node);
            return numbers_text(step->stage_id, step->iter_id, static_cast<int>(step->annotation));
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            AnnotationStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.annotation = static_cast<Annotation>(int_at(items, 3, 0, kAnnotations - 1));
            return make(std::move(step));
          }};
}

// ---- fuse --------------------------------------------------------------------------------------------------

void fuse_state(const StepNode* node, StateNode* state, const ComputeDAGNode*) {
  auto* step = static_cast<const FuseStep*>(node);
  const std::vector<int>& ids = step->fused_ids;
  IteratorNode fused;
  PrimExpr extent = int_imm(DataType::Int(32), 1);
  fused.iter_kind = IterKind::Special;
  std::string name;
  for (size_t i = 0; i < ids.size(); ++i) {
    check_iter(state, step->stage_id, ids[i]);
    if (i && ids[i] != ids[i - 1] + 1) reject_step(state, step->stage_id, "only neighbouring loops can be fused");
    if (i + 1 != ids.size() && state->has_attached(step->stage_id, ids[i]))
      reject_step(state, step->stage_id, "a loop that other stages are attached to can only be the last that is fused");
    const Iterator iter = state->iter(step->stage_id, ids[i]);
    fused.orig_iters.push_back(iter);
    name += iter->name + "@";
    extent = extent && iter->range ? extent * iter->range->extent : PrimExpr();
    fused.iter_kind = i == 0 || fused.iter_kind == iter->iter_kind ? iter->iter_kind : IterKind::Mixed;
  }
  fused.name = name;
  if (extent) fused.range = make_range(int_imm(extent.dtype(), 0), extent);
  Iterator made = make(std::move(fused));
  const int first = ids.empty() ? 0 : ids.front(), last = ids.empty() ? -1 : ids.back();
  edit_stage(state, step->stage_id, [&](StageNode* stage) {
    if (ids.empty()) return stage->iters.insert(0, made);
    stage->iters.set(StateNode::at(first), made);
    for (int i = first; i < last; ++i) stage->iters.erase(StateNode::at(first) + 1);
  });
  state->move_iters(step->stage_id, [&](int iter) {
    if (ids.empty()) return iter + 1;
    if (iter <= first) return iter;
    return iter > last ? iter - (last - first) : first;
  });
}

void fuse_schedule(const StepNode* node, Replay* replay) {
  auto* step = static_cast<const FuseStep*>(node);
  te::Stage stage = stage_of(step, replay);
  std::vector<IterVar>& axes = replay->axes[StateNode::at(step->stage_id)];
  Array<IterVar> loops;
  std::string names;
  for (int id : step->fused_ids) {
    loops.push_back(axis_at(step, id, replay));
    names += (names.empty() ? "" : ", ") + axis_name(stage, loops.back());
  }
  IterVar fused = te::fuse(stage, loops);
  if (replay->writes_python)
    replay->python += axis_name(stage, fused) + " = s[" + op_name(stage) + "].fuse(" + names + ")\n";
  if (step->fused_ids.empty()) {
    axes.insert(axes.begin(), fused);
    return;
  }
  const long first = step->fused_ids.front(), last = step->fused_ids.back();
  axes.erase(axes.begin() + first, axes.begin() + last + 1);
  axes.insert(axes.begin() + first, fused);
}

StepRow fuse_row() {
  return {&FuseStep::info,
          "FU",
          fuse_state,
          fuse_schedule,
          [](const StepNode* node) {
            auto* step = static_cast<const FuseStep*>(node);
            return numbers_text(step->stage_id) + ", " + list_text(step->fused_ids);
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            FuseStep step;
            step.stage_id = id_at(items, 1);
            step.fused_ids = ids_at(items, 2);
            return make(std::move(step));
          }};
}

// ---- pragma ------------------------------------------------------------------------------------------------

constexpr std::string_view kAutoUnroll = "auto_unroll_max_step";

/// N of auto_unroll_max_step$N; -1 for other pragmas.
int auto_unroll_of(const std::string& pragma) {
  if (!pragma.starts_with(kAutoUnroll)) return -1;
  const size_t dollar = pragma.find('$');
  if (dollar == std::string::npos || dollar + 1 == pragma.size() || pragma.size() > dollar + 9 ||
      pragma.find_first_not_of("0123456789", dollar + 1) != std::string::npos)
    throw Error(ValueError) << "auto_scheduler: the pragma " << quoted(pragma)
                            << " has no number; write auto_unroll_max_step$64";
  return std::stoi(pragma.substr(dollar + 1));
}

void pragma_state(const StepNode* node, StateNode* state, const ComputeDAGNode*) {
  auto* step = static_cast<const PragmaStep*>(node);
  check_iter(state, step->stage_id, step->iter_id);
  if (step->pragma_type == "debug_skip_region") {
    state->detach(step->stage_id);
    return;
  }
  const int most = auto_unroll_of(step->pragma_type.str());
  if (most >= 0)
    return edit_stage(state, step->stage_id, [&](StageNode* stage) { stage->auto_unroll_max_step = most; });
  if (step->pragma_type != "tensor_core")
    throw Error(ValueError) << "auto_scheduler: Unsupported pragma: " << step->pragma_type
                            << "; there are auto_unroll_max_step$N, tensor_core and debug_skip_region";
}

void pragma_schedule(const StepNode* node, Replay* replay) {
  auto* step = static_cast<const PragmaStep*>(node);
  te::Stage stage = stage_of(step, replay);
  IterVar axis = axis_at(step, step->iter_id, replay);
  const std::string name = axis_name(stage, axis);
  const int most = auto_unroll_of(step->pragma_type.str());
  if (most >= 0) {
    te::pragma(stage, axis, std::string(kAutoUnroll), int_imm(DataType::Int(32), most));
    te::pragma(stage, axis, "unroll_explicit", bool_imm(true));
    say(replay, step, "pragma(" + name + ", \"auto_unroll_max_step\", " + std::to_string(most) + ")");
    return say(replay, step, "pragma(" + name + ", \"unroll_explicit\", True)");
  }
  te::pragma(stage, axis, step->pragma_type, PrimExpr());
  say(replay, step, "pragma(" + name + ", \"" + step->pragma_type.str() + "\")");
}

StepRow pragma_row() {
  return {&PragmaStep::info,
          "PR",
          pragma_state,
          pragma_schedule,
          [](const StepNode* node) {
            auto* step = static_cast<const PragmaStep*>(node);
            return numbers_text(step->stage_id, step->iter_id) + ", " + escaped(step->pragma_type, "\\u00");
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            PragmaStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.pragma_type = text_at(items, 3);
            return make(std::move(step));
          }};
}

// ---- reorder -----------------------------------------------------------------------------------------------

void reorder_state(const StepNode* node, StateNode* state, const ComputeDAGNode*) {
  auto* step = static_cast<const ReorderStep*>(node);
  const Stage stage = state->stages[StateNode::at(step->stage_id)];
  std::vector<int> sorted = step->after_ids;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int>(i)) reject_step(state, step->stage_id, "a reorder names each loop once");
  if (sorted.size() != stage->iters.size()) reject_step(state, step->stage_id, "a reorder names all loops of a stage");
  Array<Iterator> iters;
  for (int id : step->after_ids) iters.push_back(stage->iters[StateNode::at(id)]);
  edit_stage(state, step->stage_id, [&](StageNode* changed) { changed->iters = iters; });
}

void reorder_schedule(const StepNode* node, Replay* replay) {
  auto* step = static_cast<const ReorderStep*>(node);
  te::Stage stage = stage_of(step, replay);
  Array<IterVar> order;
  std::string names;
  for (int id : step->after_ids) {
    order.push_back(axis_at(step, id, replay));
    names += (names.empty() ? "" : ", ") + axis_name(stage, order.back());
  }
  te::reorder(stage, order);
  replay->axes[StateNode::at(step->stage_id)] = order.vec();
  say(replay, step, "reorder(" + names + ")");
}

StepRow reorder_row() {
  return {&ReorderStep::info,
          "RE",
          reorder_state,
          reorder_schedule,
          [](const StepNode* node) {
            auto* step = static_cast<const ReorderStep*>(node);
            return numbers_text(step->stage_id) + ", " + list_text(step->after_ids);
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            ReorderStep step;
            step.stage_id = id_at(items, 1);
            step.after_ids = ids_at(items, 2);
            return make(std::move(step));
          }};
}

// ---- storage_align -----------------------------------------------------------------------------------------

StepRow storage_align_row() {
  return {&StorageAlignStep::info,
          "SA",
          [](const StepNode* node, StateNode* state, const ComputeDAGNode*) {
            auto* step = static_cast<const StorageAlignStep*>(node);
            check_iter(state, step->stage_id, step->iter_id);
            edit_stage(state, step->stage_id, [&](StageNode* stage) { stage->storage_offset = step->offset; });
          },
          [](const StepNode* node, Replay* replay) {
            auto* step = static_cast<const StorageAlignStep*>(node);
            te::Stage stage = stage_of(step, replay);
            IterVar axis = axis_at(step, step->iter_id, replay);
            auto* known = te::attr_of(stage.get(), axis);
            te::IterVarAttrNode attr = known ? *known : te::IterVarAttrNode{};
            attr.dim_align_factor = step->factor;
            attr.dim_align_offset = step->offset;
            stage.edit()->iter_var_attrs.set(axis, make(std::move(attr)));
            say(replay, step,
                "storage_align(" + axis_name(stage, axis) + ", " + numbers_text(step->factor, step->offset) + ")");
          },
          [](const StepNode* node) {
            auto* step = static_cast<const StorageAlignStep*>(node);
            return numbers_text(step->stage_id, step->iter_id, step->factor, step->offset);
          },
          [](const std::vector<ObjectRef>& items) -> Step {
            StorageAlignStep step;
            step.stage_id = id_at(items, 1);
            step.iter_id = id_at(items, 2);
            step.factor = static_cast<int32_t>(int_at(items, 3, 0, INT32_MAX));
            step.offset = static_cast<int32_t>(int_at(items, 4, 0, INT32_MAX));
            return make(std::move(step));
          }};
}

}  // namespace

std::vector<StepRow> loop_step_rows() {
  return {annotation_row(), fuse_row(), pragma_row(), reorder_row(), storage_align_row()};
}

}  // namespace tessera::auto_scheduler
