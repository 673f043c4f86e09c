#pragma once
// The computations that are searched: operations in order, how they read each other, and states over them.

#include "tune/auto_scheduler/access.h"
#include "tune/auto_scheduler/steps/steps.h"

namespace tessera::auto_scheduler {

struct ComputeDAGNode : Object {
  Array<te::Tensor> tensors;  // inputs and outputs, in the order of the arguments
  Array<te::Operation> ops;   // each after those it reads
  double flop_ct = 0;
  State init_state;
  Accesses accesses;
  static constexpr NodeInfo info{"auto_scheduler.ComputeDAG", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("tensors", &ComputeDAGNode::tensors);
    f("ops", &ComputeDAGNode::ops);
    f("flop_ct", &ComputeDAGNode::flop_ct);
    f("init_state", &ComputeDAGNode::init_state);
  }
};
using ComputeDAG = Ref<ComputeDAGNode>;

/// Of input and output tensors; ValueError where one is computed by something else than te.compute or not reached.
ComputeDAG make_compute_dag(const Array<te::Tensor>& tensors);
/// Of the stages of a schedule, in their order.
ComputeDAG make_compute_dag(const te::Schedule& schedule);
/// The DAG after the steps of a state that add stages.
ComputeDAG current_dag(const StateNode* state, const ComputeDAGNode* dag);

/// A line for each operation; `for_hash`: without what depends on shapes of inputs, as workload keys take it.
std::string dag_text(const ComputeDAGNode* dag, bool for_hash = false);
/// Arithmetic operations of floats in all; -1 where extents are not constant.
double count_flops(const Array<te::Operation>& ops);

// ---- states ------------------------------------------------------------------------------------------------

/// A schedule with all steps applied. The loops of its stages are known to the replay.
enum class ReplayFor { Schedule, Python, Graph };
Replay replay_steps(const ComputeDAGNode* dag, const Array<Step>& steps, ReplayFor what = ReplayFor::Schedule);
/// The ranges of all loops of a state. A state without stages has its steps applied first.
State infer_bound(const ComputeDAGNode* dag, const State& state);
/// Each of them, on all cores; empty references where that fails.
std::vector<State> infer_bounds(const ComputeDAGNode* dag, const std::vector<State>& states);
std::string python_code(const ComputeDAGNode* dag, const Array<Step>& steps);

enum class LayoutRewrite : int32_t { None, InsertTransformStage, PreTransformed };
/// A schedule and its arguments. Constant operands may be laid out as the loops read them: by a stage of their own, or in
/// placeholders of another shape.
std::pair<te::Schedule, Array<te::Tensor>> apply_steps(const ComputeDAGNode* dag, const Array<Step>& steps,
                                                       LayoutRewrite rewrite);
/// The DAG over placeholders that are laid out so, and the steps for it.
std::pair<ComputeDAG, Array<Step>> rewrite_layout(const ComputeDAGNode* dag, const Array<Step>& steps,
                                                  LayoutRewrite rewrite);

}  // namespace tessera::auto_scheduler
