#pragma once
// A graph executor that can be looked into: the time of each node, the value of each node, a report of a run.

#include "runtime/graph_executor/module.h"
#include "runtime/profiling/profiling.h"
#include "runtime/profiling/time_evaluator.h"

namespace tessera {

/// Nodes are named by their number in the graph; a number it does not have is an IndexError.
class DebugGraphExecutor final : public GraphExecutorModule {
 public:
  using GraphExecutorModule::GraphExecutorModule;

  std::string type_key() const override { return "GraphExecutorDebug"; }
  /// What the plain executor has, and debug_get_output, execute_node, get_node_output, run_individual,
  /// run_individual_node, profile, profile_rpc.
  PackedFunc get_function(const std::string& name, const Module& self) override;

 private:
  /// Seconds of one run of the node, `plan.repeat` times; zeros for a node that calls nothing.
  std::vector<double> time_node(const Module& self, int64_t node, const TimePlan& plan);
  /// The same for all nodes, one after the other: their number, then the seconds of each.
  Bytes time_nodes(const Module& self, const TimePlan& plan);
  /// Runs the nodes that have not run since the last call up to `node`; a node before that begins again with the first.
  void execute_node(int64_t node);
  /// A value as it stands in memory, which a later node may share: ask before running on.
  NDArray node_output(int64_t node, int64_t output) const;
  profiling::Report profile(const profiling::Collectors& collectors);
  size_t checked(int64_t node) const;

  int64_t executed_ = -1;  // the last node that execute_node ran
};

}  // namespace tessera
