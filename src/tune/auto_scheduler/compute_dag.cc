// Compute DAGs: which operations they have, and what is done with states of them.

#include "tune/auto_scheduler/compute_dag.h"

#include <set>

#include "base/run_tasks.h"
#include "ir/repr.h"
#include "ir/rewrite.h"
#include "te/bounds.h"
#include "tune/auto_scheduler/steps/step_support.h"

namespace tessera::auto_scheduler {
namespace {

State initial_state(const Array<te::Operation>& ops) {
  StateNode state;
  for (const te::Operation& op : ops) state.stages.push_back(initial_stage(op));
  return make(std::move(state));
}

ComputeDAG finish(ComputeDAGNode node) {
  node.init_state = initial_state(node.ops);  // throws where an operation cannot be searched
  node.accesses = Accesses(node.ops);
  node.flop_ct = count_flops(node.ops);
  return make(std::move(node));
}

/// Loops are known by the names of their axes.
void check_names(const Array<te::Operation>& ops) {
  for (const te::Operation& op : ops) {
    auto* compute = op.as<te::ComputeOp>();
    if (!compute) continue;
    std::set<std::string> names;
    for (const Array<IterVar>& list : {compute->axis, compute->reduce_axis})
      for (const IterVar& axis : list)
        if (!names.insert(axis->var->name.str()).second)
          throw Error(ValueError) << "auto_scheduler: " << op->name << " has two axes " << axis->var->name
                                  << "; axes of one operation need different names";
  }
}

/// Every tensor that is read has as many dimensions as it is read with.
void check_reads(const Array<te::Operation>& ops) {
  for (const te::Operation& op : ops) {
    auto* compute = op.as<te::ComputeOp>();
    if (!compute) continue;
    for (const PrimExpr& body : compute->body)
      walk(body, [&](const ProducerLoad* load) {
        auto* tensor = load->producer.as<te::TensorNode>();
        if (tensor && tensor->shape.size() != load->indices.size())
          throw Error(ValueError) << "auto_scheduler: " << op->name << " reads " << tensor->op->name << ", which has "
                                  << tensor->shape.size() << " dimensions, by " << load->indices.size() << " indices";
      });
  }
}

}  // namespace

ComputeDAG make_compute_dag(const Array<te::Tensor>& tensors) {
  if (tensors.empty()) throw Error(ValueError) << "auto_scheduler: a DAG needs tensors";
  Array<te::Operation> given;
  for (const te::Tensor& tensor : tensors) given.push_back(tensor->op);
  Array<te::Operation> all = te::post_order_operations(given), outputs;
  std::unordered_map<const Object*, bool> is_read;
  for (const te::Operation& op : all)
    for (const te::Tensor& input : te::input_tensors(op.get())) is_read[input->op.get()] = true;
  for (const te::Operation& op : all)
    if (!op.as<te::PlaceholderOp>() && !is_read[op.get()]) outputs.push_back(op);
  ComputeDAGNode node;
  node.tensors = tensors;
  const te::Schedule schedule = te::create_schedule(outputs);
  for (const te::Stage& stage : schedule->stages) node.ops.push_back(stage->op);
  for (const te::Operation& op : node.ops) {
    if (!op.as<te::PlaceholderOp>()) continue;
    bool is_given = false;
    for (const te::Operation& each : given) is_given |= each.same_as(op);
    if (!is_given)
      throw Error(ValueError) << "auto_scheduler: the placeholder " << op->name
                              << " is read and not among the tensors; list all inputs and outputs";
  }
  check_reads(node.ops);
  check_names(node.ops);
  return finish(std::move(node));
}

ComputeDAG make_compute_dag(const te::Schedule& schedule) {
  ComputeDAGNode node;
  for (const te::Stage& stage : schedule->stages) {
    node.ops.push_back(stage->op);
    if (!stage->op.as<te::PlaceholderOp>() && !stage->is_output) continue;
    for (int i = 0; i < te::num_outputs(stage->op.get()); ++i) node.tensors.push_back(te::output(stage->op, i));
  }
  return finish(std::move(node));
}

ComputeDAG current_dag(const StateNode* state, const ComputeDAGNode* dag) {
  return state->current_dag ? downcast<ComputeDAG>(state->current_dag) : ComputeDAG(dag);
}

// ---- states ------------------------------------------------------------------------------------------------

Replay replay_steps(const ComputeDAGNode* dag, const Array<Step>& steps, ReplayFor what) {
  Replay out;
  Array<te::Operation> outputs;
  for (const te::Operation& op : dag->ops)
    if (dag->accesses.of(op).is_output) outputs.push_back(op);
  out.schedule = te::create_schedule(outputs);
  out.writes_python = what == ReplayFor::Python;
  out.only_graph = what == ReplayFor::Graph;
  out.steps = &steps;
  for (const te::Operation& op : dag->ops) out.insert_stage(out.stages.size(), te::stage_of(out.schedule, op));
  if (out.writes_python)
    for (const te::Stage& stage : out.stages)
      if (stage->op.as<te::ComputeOp>()) out.python += axes_line(stage);
  for (const Step& step : steps) {
    if (StateNode::at(step->stage_id) >= out.stages.size())
      throw Error(ValueError) << "auto_scheduler: a step is about stage " << step->stage_id << " of "
                              << out.stages.size();
    row_of(step.get()).to_schedule(step.get(), &out);
  }
  out.steps = nullptr;
  return out;
}

std::string python_code(const ComputeDAGNode* dag, const Array<Step>& steps) {
  return replay_steps(dag, steps, ReplayFor::Python).python;
}

State infer_bound(const ComputeDAGNode* dag, const State& state) {
  if (!state->concrete)
    throw Error(ValueError)
        << "auto_scheduler: only concrete states have bounds, and splits of this one have no lengths";
  StateNode out(*state);
  if (out.stages.empty()) {
    out = StateNode(*dag->init_state);
    for (const Step& step : state->transform_steps) apply_step(&out, step, dag);
  }
  Replay replay = replay_steps(dag, out.transform_steps);
  ICHECK(replay.stages.size() == out.stages.size()) << "a state has the stages of its schedule";
  const te::Bounds bounds = te::infer_bounds(te::normalize(replay.schedule));
  for (size_t i = 0; i < out.stages.size(); ++i) {
    if (out.stages[i]->compute_at == ComputeAt::Inlined) continue;
    edit_stage(&out, static_cast<int>(i), [&](StageNode* stage) {
      ICHECK(stage->iters.size() == replay.axes[i].size()) << "a stage has the loops of its schedule";
      for (size_t j = 0; j < stage->iters.size(); ++j) {
        IteratorNode iter(*stage->iters[j]);
        iter.range = bounds.get_or_null(replay.axes[i][j]);
        if (!iter.range)
          throw Error(ValueError) << "auto_scheduler: Infer bound fails for loop " << iter.name << " of "
                                  << stage->op->name;
        stage->iters.set(j, make(std::move(iter)));
      }
    });
  }
  return make(std::move(out));
}

std::vector<State> infer_bounds(const ComputeDAGNode* dag, const std::vector<State>& states) {
  std::vector<State> out(states.size());
  run_tasks(states.size(), compile_threads(), [&](size_t i) {
    try {
      out[i] = infer_bound(dag, states[i]);
    } catch (const std::exception&) {  // an impossible schedule: the caller leaves it out
    }
  });
  return out;
}

namespace {

register_types<ComputeDAGNode> dags;
ReprRows dag_rows{[](ReprPrinter& p, const ComputeDAGNode* dag) { p << dag_text(dag); }};

}  // namespace
}  // namespace tessera::auto_scheduler
