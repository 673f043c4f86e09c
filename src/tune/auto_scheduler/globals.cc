// What other languages call: DAGs, states and their primitives, tasks, records.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tune/auto_scheduler/record.h"

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

Array<ObjectRef> apply_to_schedule(ComputeDAG dag, State state, int64_t rewrite) {
  if (rewrite < 0 || rewrite > 2) throw Error(ValueError) << "there is no layout rewrite option " << rewrite;
  auto [schedule, tensors] = apply_steps(dag.get(), state->transform_steps, static_cast<LayoutRewrite>(rewrite));
  return {schedule, tensors};
}

/// "16n4c" with n and c: the extents of all parts of an axis multiplied.
Array<PrimExpr> shape_of_layout(std::string layout, Array<String> axes) {
  std::vector<int64_t> out(axes.size(), 1);
  size_t at = 0;
  while (at < layout.size()) {
    int64_t extent = 0;
    const size_t begin = at;
    for (; at < layout.size() && isdigit(static_cast<unsigned char>(layout[at])); ++at)
      extent = std::min<int64_t>(extent * 10 + (layout[at] - '0'), INT32_MAX);
    const size_t name = at;
    while (at < layout.size() && !isdigit(static_cast<unsigned char>(layout[at]))) ++at;
    if (name == begin || name == at) throw Error(ValueError) << "the layout " << layout << " is not like 16n4c";
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] == layout.substr(name, at - name)) out[i] *= extent;
  }
  Array<PrimExpr> shape;
  for (int64_t extent : out) shape.push_back(int_imm(DataType::Int(32), extent));
  return shape;
}

State rewritten_state(ComputeDAG dag, State state) {
  auto [changed, steps] = rewrite_layout(dag.get(), state->transform_steps, LayoutRewrite::PreTransformed);
  StateNode out(*changed->init_state);
  for (const Step& step : steps) apply_step(&out, step, changed.get());
  return make(std::move(out));
}

Globals dag_globals{
    {"auto_scheduler.ComputeDAG",
     [](ObjectRef from) {
       if (from.as<te::ScheduleNode>()) return make_compute_dag(downcast<te::Schedule>(from));
       return make_compute_dag(Any::of_object(from.get()).to<Array<te::Tensor>>());
     }},
    {"auto_scheduler.ComputeDAGApplyStepsFromState", apply_to_schedule},
    {"auto_scheduler.ComputeDAGPrintPythonCodeFromState",
     [](ComputeDAG dag, State state) { return python_code(dag.get(), state->transform_steps); }},
    {"auto_scheduler.ComputeDAGInferBoundFromState",
     [](ComputeDAG dag, State state) { return infer_bound(dag.get(), state); }},
    {"auto_scheduler.ComputeDAGRewriteLayoutFromState", rewritten_state},
    {"auto_scheduler.GetShapeFromRewrittenLayout", shape_of_layout},
    {"auto_scheduler.ComputeDAGPrintDAG", [](ComputeDAG dag, bool for_hash) { return dag_text(dag.get(), for_hash); }},
};

Globals task_globals{
    {"auto_scheduler.HardwareParams",
     [](int cores, int vector, int line, int shared, int local, int threads, int vthread, int warp) {
       return make(HardwareParamsNode{{}, cores, vector, line, shared, local, threads, vthread, warp});
     }},
    {"auto_scheduler.GetDefaultHardwareParams", [](Target target, Target) { return default_hardware(target); }},
    {"auto_scheduler.SearchTask",
     [](ComputeDAG dag, String key, Target target, Target host, HardwareParams hardware, int64_t rewrite,
        Array<String> inputs, String desc) {
       if (rewrite < 0 || rewrite > 2) throw Error(ValueError) << "there is no layout rewrite option " << rewrite;
       SearchTaskNode task;
       task.compute_dag = dag;
       task.workload_key = key;
       task.desc = desc;
       task.target = target;
       task.target_host = host;
       task.hardware_params = hardware ? hardware : default_hardware(target);
       task.layout_rewrite_option = static_cast<LayoutRewrite>(rewrite);
       task.task_input_names = inputs;
       return make(std::move(task));
     }},
    {"auto_scheduler.MeasureInput",
     [](SearchTask task, State state) { return make(MeasureInputNode{{}, task, state}); }},
    {"auto_scheduler.MeasureResult",
     [](Array<PrimExpr> costs, int error, String message, double all_cost, double timestamp) {
       return make(MeasureResultNode{{}, costs, error, message, all_cost, timestamp});
     }},
};

Globals record_globals{
    {"auto_scheduler.SerializeRecord",
     [](MeasureInput input, MeasureResult result) { return record_line(input, result); }},
    {"auto_scheduler.DeserializeRecord",
     [](std::string line) {
       auto [input, result] = read_record(line);
       return Array<ObjectRef>{input, result};
     }},
    {"auto_scheduler.AppendRecords",
     [](std::string path, Array<MeasureInput> inputs, Array<MeasureResult> results) {
       if (inputs.size() != results.size()) throw Error(ValueError) << "each input has a result";
       std::vector<std::pair<MeasureInput, MeasureResult>> records;
       for (size_t i = 0; i < inputs.size(); ++i) records.emplace_back(inputs[i], results[i]);
       append_records(path, records);
     }},
};

}  // namespace
}  // namespace tessera::auto_scheduler
