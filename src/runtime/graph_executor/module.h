#pragma once
// The graph executor as a module: set_input, run, get_output and the rest under v0.10's names.

#include "runtime/graph_executor/graph_executor.h"

namespace tessera {

class GraphExecutorModule : public ModuleBody {
 public:
  GraphExecutorModule(std::shared_ptr<const Graph> graph, Module code, std::vector<DLDevice> devices,
                      const Map<String, NDArray>& params = {})
      : executor(std::move(graph), std::move(code), std::move(devices), params) {}

  std::string type_key() const override { return "GraphExecutor"; }
  PackedFunc get_function(const std::string& name, const Module& self) override;

  GraphExecutor executor;
};

/// Graph, code and parameters in one: a module whose function `name` makes executors, given a device. Parameters that
/// the library holds itself are found too.
Module make_graph_factory(std::string graph_json, const Module& library, Map<String, NDArray> params, std::string name);

/// Parameters that the library holds itself.
Map<String, NDArray> linked_params(const Graph& graph, const Module& code);

/// The devices that a call names by pairs of numbers (type, id) from argument `first` on.
std::vector<DLDevice> devices_from(Args args, int first);

}  // namespace tessera
