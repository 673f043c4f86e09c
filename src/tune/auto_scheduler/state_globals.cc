// The primitives of states for other languages.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tune/auto_scheduler/compute_dag.h"

namespace tessera::auto_scheduler {
namespace {

/// Positions of loops that a caller has from this very state.
int position_of(const StateNode* state, int stage, const Iterator& iter) {
  check_stage(state, stage);
  const Stage node = state->stages[StateNode::at(stage)];
  for (size_t i = 0; i < node->iters.size(); ++i)
    if (node->iters[i].same_as(iter)) return static_cast<int>(i);
  std::string known;
  for (const Iterator& each : node->iters) known += (known.empty() ? "" : ", ") + each->name.str();
  throw Error(ValueError) << "auto_scheduler: " << (iter ? iter->name.str() : "None") << " is no loop of stage "
                          << node->op->name << " any more; its loops are " << known;
}

std::vector<int> positions_of(const StateNode* state, int stage, const Array<Iterator>& iters) {
  std::vector<int> out;
  for (const Iterator& iter : iters) out.push_back(position_of(state, stage, iter));
  return out;
}

State applied(const State& state, const Step& step, const ComputeDAGNode* dag = nullptr) {
  StateNode out(*state);
  apply_step(&out, step, dag);
  return make(std::move(out));
}

/// The state after a step, and `count` loops of the stage from `first` on.
Array<ObjectRef> with_loops(const State& state, int stage, int first, int count) {
  Array<Iterator> loops;
  for (int i = 0; i < count; ++i) loops.push_back(state->iter(stage, first + i));
  return {state, loops};
}

Array<ObjectRef> annotate(const State& state, int stage, const Iterator& iter, Annotation annotation) {
  const int position = position_of(state.get(), stage, iter);
  AnnotationStep step;
  step.stage_id = stage;
  step.iter_id = position;
  step.annotation = annotation;
  State out = applied(state, make(std::move(step)));
  return {out, out->iter(stage, position)};
}

Array<ObjectRef> bind(State state, int stage, Iterator iter, int64_t annotation) {
  if (annotation < 0 || annotation >= kAnnotations || !is_thread(static_cast<Annotation>(annotation)))
    throw Error(ValueError) << "auto_scheduler: a loop is bound to a thread, and " << annotation << " is none";
  return annotate(state, stage, iter, static_cast<Annotation>(annotation));
}

Array<ObjectRef> fuse(State state, int stage, Array<Iterator> iters) {
  FuseStep step;
  step.stage_id = stage;
  step.fused_ids = positions_of(state.get(), stage, iters);
  const int first = step.fused_ids.empty() ? 0 : step.fused_ids.front();
  State out = applied(state, make(std::move(step)));
  return {out, out->iter(stage, first)};
}

State pragma(State state, int stage, Iterator iter, String type) {
  PragmaStep step;
  step.stage_id = stage;
  step.iter_id = position_of(state.get(), stage, iter);
  step.pragma_type = type;
  return applied(state, make(std::move(step)));
}

State reorder(State state, int stage, Array<Iterator> order) {
  ReorderStep step;
  step.stage_id = stage;
  step.after_ids = positions_of(state.get(), stage, order);
  return applied(state, make(std::move(step)));
}

Array<ObjectRef> split(State state, int stage, Iterator iter, Array<ObjectRef> lengths, bool inner_to_outer) {
  SplitStep step;
  step.stage_id = stage;
  step.iter_id = position_of(state.get(), stage, iter);
  step.extent = std::max<int64_t>(extent_of(iter), 0);
  for (const ObjectRef& length : lengths) {
    int64_t value = 0;
    if (length && (!number_boxes.unbox_int(length.get(), &value) || value < 1))
      throw Error(ValueError) << "auto_scheduler: a length of a split is a positive number or None, not " << length;
    step.lengths.push_back(value);
  }
  step.inner_to_outer = inner_to_outer;
  const int position = step.iter_id, count = static_cast<int>(lengths.size()) + 1;
  return with_loops(applied(state, make(std::move(step))), stage, position, count);
}

Array<ObjectRef> follow_split(State state, int stage, Iterator iter, int source, int n_split) {
  FollowSplitStep step;
  step.stage_id = stage;
  const int position = step.iter_id = position_of(state.get(), stage, iter);
  step.src_step_id = source;
  step.n_split = n_split;
  return with_loops(applied(state, make(std::move(step))), stage, position, n_split + 1);
}

Array<ObjectRef> follow_fused_split(State state, int stage, Iterator iter, Array<PrimExpr> sources, int level,
                                    bool factor_or_nparts) {
  FollowFusedSplitStep step;
  step.stage_id = stage;
  const int position = step.iter_id = position_of(state.get(), stage, iter);
  for (const PrimExpr& source : sources) {
    const int64_t* id = as_int(source);
    if (!id || *id < 0) throw Error(ValueError) << "auto_scheduler: steps are followed by their numbers";
    step.src_step_ids.push_back(static_cast<int>(*id));
  }
  step.level = level;
  step.factor_or_nparts = factor_or_nparts;
  return with_loops(applied(state, make(std::move(step))), stage, position, 2);
}

State storage_align(State state, int stage, Iterator iter, int factor, int offset) {
  StorageAlignStep step;
  step.stage_id = stage;
  step.iter_id = position_of(state.get(), stage, iter);
  step.factor = factor;
  step.offset = offset;
  return applied(state, make(std::move(step)));
}

State compute_at(State state, int stage, int target, Iterator iter) {
  ComputeAtStep step;
  step.stage_id = stage;
  step.target_stage_id = target;
  step.target_iter_id = position_of(state.get(), target, iter);
  return applied(state, make(std::move(step)));
}

template <class S>
State of_stage(State state, int stage) {
  S step;
  step.stage_id = stage;
  return applied(state, make(std::move(step)));
}

Array<ObjectRef> with_stage(const State& state, int stage) { return {state, number_boxes.box_int(stage)}; }

Array<ObjectRef> cache_read(State state, int stage, String scope, Array<PrimExpr> readers, ComputeDAG dag) {
  CacheReadStep step;
  step.stage_id = stage;
  step.scope_name = scope;
  for (const PrimExpr& reader : readers) step.reader_stage_ids.push_back(static_cast<int>(*as_int(reader)));
  return with_stage(applied(state, make(std::move(step)), dag.get()), stage + 1);
}

Array<ObjectRef> cache_write(State state, int stage, String scope, ComputeDAG dag) {
  CacheWriteStep step;
  step.stage_id = stage;
  step.scope_name = scope;
  return with_stage(applied(state, make(std::move(step)), dag.get()), stage);
}

Array<ObjectRef> rfactor(State state, int stage, Iterator iter, int factor_iter_id, ComputeDAG dag) {
  RfactorStep step;
  step.stage_id = stage;
  step.iter_id = position_of(state.get(), stage, iter);
  step.factor_iter_id = factor_iter_id;
  return with_stage(applied(state, make(std::move(step)), dag.get()), stage);
}

Globals state_globals{
    {"auto_scheduler.StateBind", bind},
    {"auto_scheduler.StateParallel",
     [](State state, int stage, Iterator iter) { return annotate(state, stage, iter, Annotation::Parallel); }},
    {"auto_scheduler.StateUnroll",
     [](State state, int stage, Iterator iter, int64_t max_unroll) {
       if (max_unroll >= 0 && extent_of(iter) > max_unroll) return Array<ObjectRef>{state, iter};
       return annotate(state, stage, iter, Annotation::Unroll);
     }},
    {"auto_scheduler.StateVectorize",
     [](State state, int stage, Iterator iter) { return annotate(state, stage, iter, Annotation::Vectorize); }},
    {"auto_scheduler.StateFuse", fuse},
    {"auto_scheduler.StatePragma", pragma},
    {"auto_scheduler.StateReorder", reorder},
    {"auto_scheduler.StateSplit", split},
    {"auto_scheduler.StateFollowSplit", follow_split},
    {"auto_scheduler.StateFollowFusedSplit", follow_fused_split},
    {"auto_scheduler.StateStorageAlign", storage_align},
    {"auto_scheduler.StateComputeAt", compute_at},
    {"auto_scheduler.StateComputeInline", of_stage<ComputeInlineStep>},
    {"auto_scheduler.StateComputeRoot", of_stage<ComputeRootStep>},
    {"auto_scheduler.StateCacheRead", cache_read},
    {"auto_scheduler.StateCacheWrite", cache_write},
    {"auto_scheduler.StateRfactor", rfactor},
    {"auto_scheduler.StateEqual",
     [](State a, State b) { return state_text(a.get(), true) == state_text(b.get(), true); }},
    {"auto_scheduler.StateText",
     [](State state, bool with_trivial_loops) { return state_text(state.get(), with_trivial_loops); }},
};

}  // namespace
}  // namespace tessera::auto_scheduler
