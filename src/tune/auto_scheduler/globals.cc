// What other languages call: DAGs, tasks, records.

#include <cctype>

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tune/auto_scheduler/record.h"

namespace tessera::auto_scheduler {
namespace {

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
