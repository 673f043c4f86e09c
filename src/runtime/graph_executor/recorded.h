#pragma once
// The graph executor whose calls are recorded once and launched as one: a CUDA graph.

#include "runtime/graph_executor/module.h"
#include "runtime/recorded_work.h"

namespace tessera {

/// Functions beside those of a graph executor: `capture_cuda_graph`, `run_cuda_graph`.
class RecordedGraphExecutor final : public GraphExecutorModule {
 public:
  using GraphExecutorModule::GraphExecutorModule;

  PackedFunc get_function(const std::string& name, const Module& self) override;

  /// Runs the graph, so that all that is made at a first call is there, and records it.
  void capture();
  /// Launches what was recorded; records first where nothing is, or where memory was replaced since.
  void launch();

 private:
  std::unique_ptr<RecordedWork> work_;
  uint64_t moves_ = 0;  // of the executor when it was recorded
};

}  // namespace tessera
