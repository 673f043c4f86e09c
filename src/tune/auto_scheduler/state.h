#pragma once
// A schedule under search: the loops of each stage as names and ranges, and the steps that led there. It is a cheap copy of
// what a TE schedule describes: copies share all that they do not change.

#include "te/schedule.h"

namespace tessera::auto_scheduler {

enum class IterKind : int32_t { Spatial, Reduction, Mixed, Special };

/// How a loop runs; the numbers are those of v0.10's records.
enum class Annotation : int32_t {
  None,
  Unroll,
  Vectorize,
  Parallel,
  VThread,
  BlockX,
  ThreadX,
  BlockY,
  ThreadY,
  BlockZ,
  ThreadZ,
  Tensorize,
};
inline constexpr int kAnnotations = 12;
/// "for", "unroll", ..., as states print them; the tag of a thread axis where it is one.
const char* annotation_name(Annotation annotation);
inline bool is_thread(Annotation a) { return a >= Annotation::VThread && a <= Annotation::ThreadZ; }

enum class ComputeAt : int32_t { Root, Inlined, Iter };

/// A loop. The range is empty where it is not known: lengths to be chosen, bounds to be inferred.
struct IteratorNode : Object {
  String name;
  Range range;
  IterKind iter_kind = IterKind::Spatial;
  Annotation annotation = Annotation::None;
  Array<Ref<IteratorNode>> orig_iters;  // those that were fused
  static constexpr NodeInfo info{"auto_scheduler.Iterator", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("name", &IteratorNode::name);
    f("range", &IteratorNode::range, Optional);
    f("iter_kind", &IteratorNode::iter_kind);
    f("annotation", &IteratorNode::annotation);
  }
};
using Iterator = Ref<IteratorNode>;

struct StageNode : Object {
  te::Operation op;
  Array<Iterator> iters;
  ComputeAt compute_at = ComputeAt::Root;
  int32_t auto_unroll_max_step = 0, storage_offset = 0;
  static constexpr NodeInfo info{"auto_scheduler.Stage", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("op", &StageNode::op);
    f("iters", &StageNode::iters);
    f("compute_at", &StageNode::compute_at);
    f("auto_unroll_max_step", &StageNode::auto_unroll_max_step);
    f("storage_offset", &StageNode::storage_offset);
  }
};
using Stage = Ref<StageNode>;

/// One change of a schedule; see steps/steps.h.
struct StepNode : Object {
  int32_t stage_id = 0;
  static constexpr NodeInfo info{"auto_scheduler.Step", &Object::info, Role::Identity};
  static void fields(auto f) { f("stage_id", &StepNode::stage_id); }
};
using Step = Ref<StepNode>;

/// That a stage is computed inside a loop of another.
struct Attachment {
  int stage, target, iter;
};

struct StateNode : Object {
  Array<Stage> stages;
  Array<Step> transform_steps;
  bool concrete = true;                 // every split has its lengths
  std::vector<Attachment> attachments;  // in the order in which they came to be
  ObjectRef current_dag;                // the ComputeDAG after steps that added stages; empty before
  static constexpr NodeInfo info{"auto_scheduler.State", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("stages", &StateNode::stages);
    f("transform_steps", &StateNode::transform_steps);
    f("concrete", &StateNode::concrete);
  }

  /// Where a stage is attached; null where it is not.
  const Attachment* attachment_of(int stage) const;
  /// The stages attached to a loop.
  std::vector<int> attached_to(int stage, int iter) const;
  bool has_attached(int stage, int iter) const { return !attached_to(stage, iter).empty(); }
  void attach(int stage, int target, int iter);
  void detach(int stage);
  /// Stages from `first` on have moved by `count`.
  void shift_stages(int first, int count);
  /// The loops of a stage have moved; `position` says where.
  void move_iters(int stage, const std::function<int(int)>& position);

  const Iterator iter(int stage, int position) const { return stages[at(stage)]->iters[at(position)]; }
  static size_t at(int i) { return static_cast<size_t>(i); }
};
using State = Ref<StateNode>;

/// The loops of an operation as it was written. ValueError for operations that are neither computed nor given.
Stage initial_stage(const te::Operation& op);
/// The extent; -1 where it is not known, or not a constant.
int64_t extent_of(const Iterator& iter);
/// The stage with something changed.
template <class F>
void edit_stage(StateNode* state, int stage, F&& change) {
  StageNode copy(*state->stages[StateNode::at(stage)]);
  change(&copy);
  state->stages.set(StateNode::at(stage), make(std::move(copy)));
}
template <class F>
void edit_iter(StateNode* state, int stage, int iter, F&& change) {
  edit_stage(state, stage, [&](StageNode* node) {
    IteratorNode copy(*node->iters[StateNode::at(iter)]);
    change(&copy);
    node->iters.set(StateNode::at(iter), make(std::move(copy)));
  });
}

/// The loops of all stages; those of one iteration are left out unless asked for.
std::string state_text(const StateNode* state, bool with_trivial_loops = false);

/// A name for programs: `A.local` gives A_local, `i.outer` i_o.
std::string clean_name(std::string name, const std::string& prefix = "");

}  // namespace tessera::auto_scheduler
