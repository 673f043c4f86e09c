#pragma once
// What is searched: a DAG for a target, the facts about the hardware that rules ask, and the results of measuring.

#include "ir/target/target.h"
#include "tune/auto_scheduler/compute_dag.h"

namespace tessera::auto_scheduler {

struct HardwareParamsNode : Object {
  int32_t num_cores = 1, vector_unit_bytes = 64, cache_line_bytes = 64;
  int32_t max_shared_memory_per_block = 0, max_local_memory_per_block = 0, max_threads_per_block = 0;
  int32_t max_vthread_extent = 0, warp_size = 0;
  static constexpr NodeInfo info{"auto_scheduler.HardwareParams", &Object::info};
  static void fields(auto f) {
    f("num_cores", &HardwareParamsNode::num_cores);
    f("vector_unit_bytes", &HardwareParamsNode::vector_unit_bytes);
    f("cache_line_bytes", &HardwareParamsNode::cache_line_bytes);
    f("max_shared_memory_per_block", &HardwareParamsNode::max_shared_memory_per_block);
    f("max_local_memory_per_block", &HardwareParamsNode::max_local_memory_per_block);
    f("max_threads_per_block", &HardwareParamsNode::max_threads_per_block);
    f("max_vthread_extent", &HardwareParamsNode::max_vthread_extent);
    f("warp_size", &HardwareParamsNode::warp_size);
  }
};
using HardwareParams = Ref<HardwareParamsNode>;

/// What rules assume of a target that nothing else was said of.
HardwareParams default_hardware(const Target& target);

struct SearchTaskNode : Object {
  ComputeDAG compute_dag;  // empty in records, which know only the key
  String workload_key, desc;
  ObjectRef target, target_host;
  HardwareParams hardware_params;
  LayoutRewrite layout_rewrite_option = LayoutRewrite::None;
  Array<String> task_input_names;
  static constexpr NodeInfo info{"auto_scheduler.SearchTask", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("compute_dag", &SearchTaskNode::compute_dag, Optional);
    f("workload_key", &SearchTaskNode::workload_key);
    f("desc", &SearchTaskNode::desc);
    f("target", &SearchTaskNode::target);
    f("target_host", &SearchTaskNode::target_host, Optional);
    f("hardware_params", &SearchTaskNode::hardware_params);
    f("layout_rewrite_option", &SearchTaskNode::layout_rewrite_option);
    f("task_input_names", &SearchTaskNode::task_input_names);
  }
  Target search_target() const { return downcast<Target>(target); }
  /// True where threads of blocks run the program.
  bool is_gpu() const;
};
using SearchTask = Ref<SearchTaskNode>;

/// A state to be measured.
struct MeasureInputNode : Object {
  SearchTask task;
  State state;
  static constexpr NodeInfo info{"auto_scheduler.MeasureInput", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("task", &MeasureInputNode::task);
    f("state", &MeasureInputNode::state);
  }
};
using MeasureInput = Ref<MeasureInputNode>;

/// Seconds of its runs, or what went wrong (numbers as in tune/measure.h).
struct MeasureResultNode : Object {
  Array<PrimExpr> costs;
  int32_t error_no = 0;
  String error_msg;
  double all_cost = 0, timestamp = 0;
  static constexpr NodeInfo info{"auto_scheduler.MeasureResult", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("costs", &MeasureResultNode::costs);
    f("error_no", &MeasureResultNode::error_no);
    f("error_msg", &MeasureResultNode::error_msg);
    f("all_cost", &MeasureResultNode::all_cost);
    f("timestamp", &MeasureResultNode::timestamp);
  }
};
using MeasureResult = Ref<MeasureResultNode>;

}  // namespace tessera::auto_scheduler
