#include "runtime/graph_executor/recorded.h"

#include "runtime/registry.h"

namespace tessera {

PackedFunc RecordedGraphExecutor::get_function(const std::string& name, const Module& self) {
  if (name == "capture_cuda_graph") return typed(name, [self, this] { capture(); });
  if (name == "run_cuda_graph") return typed(name, [self, this] { launch(); });
  return GraphExecutorModule::get_function(name, self);
}

void RecordedGraphExecutor::capture() {
  const DLDevice device = executor.devices()[0];
  work_.reset();
  work_ = record_work(device, [this] { executor.run(); });
  moves_ = executor.moves();
}

void RecordedGraphExecutor::launch() {
  if (!work_ || moves_ != executor.moves()) capture();
  work_->launch();
}

static Globals recorded_globals{
    {"tvm.graph_executor_cuda_graph.create", PackedFunc([](Args args, Any* result) {
       if (args.size() < 4) throw Error(TypeError) << "graph_executor.create takes a graph, a library and devices";
       auto graph = std::make_shared<const Graph>(Graph::parse(args[0].to<std::string>()));
       auto code = args[1].to<Module>();
       *result = Any(make_module<RecordedGraphExecutor>(graph, code, devices_from(args, 2 + args.size() % 2),
                                                        linked_params(*graph, code)));
     })},
};

}  // namespace tessera
