#pragma once
// What the rows of steps share: reading and writing their numbers, and names in programs.

#include "tune/auto_scheduler/steps/steps.h"

namespace tessera::auto_scheduler {

/// Item `i` of a step in a record; ValueError where it is missing or something else, or out of range.
int64_t int_at(const std::vector<ObjectRef>& items, size_t i, int64_t low, int64_t high);
inline int32_t id_at(const std::vector<ObjectRef>& items, size_t i) {
  return static_cast<int32_t>(int_at(items, i, 0, 1 << 20));
}
std::string text_at(const std::vector<ObjectRef>& items, size_t i);
std::vector<int64_t> ints_at(const std::vector<ObjectRef>& items, size_t i, int64_t low, int64_t high);
std::vector<int> ids_at(const std::vector<ObjectRef>& items, size_t i);

/// [1, 2, 3]
template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string out;
  for (const T& value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return "[" + out + "]";
}
/// 1, 2, 3
template <class... T>
std::string numbers_text(T... values) {
  std::string out;
  ((out += (out.empty() ? "" : ", ") + std::to_string(values)), ...);
  return out;
}

/// The stage of a step, and what it and its axes are called in Python.
inline te::Stage stage_of(const StepNode* step, const Replay* replay) {
  return replay->stages[StateNode::at(step->stage_id)];
}
std::string op_name(const te::Stage& stage);
std::string axis_name(const te::Stage& stage, const IterVar& axis);
/// `C_i, C_j = tuple(C.op.axis) + tuple(C.op.reduce_axis)`
std::string axes_line(const te::Stage& stage, bool by_stage = false);

/// An error about a step that does not fit its state.
[[noreturn]] void reject_step(const StateNode* state, int stage, const std::string& why);

/// One split of a state or a schedule; `lengths` as in SplitStep.
void split_state(StateNode* state, int stage, int iter, const std::vector<int64_t>& lengths, bool inner_to_outer);
void split_schedule(Replay* replay, int stage, int iter, const std::vector<int64_t>& lengths, bool inner_to_outer);

}  // namespace tessera::auto_scheduler
