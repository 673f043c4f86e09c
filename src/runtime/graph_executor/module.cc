// The graph executor and its factory as modules, under the names v0.10 gives their functions.

#include "runtime/graph_executor/module.h"

#include <map>

#include "runtime/containers.h"
#include "runtime/graph_executor/debug.h"
#include "runtime/graph_executor/recorded.h"
#include "runtime/package/params.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

int index_of(const GraphExecutor& graph, const AnyView& key) {
  if (key.code() == kTesseraInt) return key.to<int>();
  auto name = key.to<std::string>();
  int index = graph.input_index(name);
  if (index < 0) throw Error(ValueError) << "the graph has no input \"" << name << "\"";
  return index;
}

/// The tensor itself, or its contents in the tensor the caller gave.
void give(const NDArray& tensor, Args args, int out, Any* result) {
  if (args.size() <= out) return void(*result = Any(tensor));
  copy_tensor(tensor.tensor(), args[out].to<DLTensor*>());
}

/// (inputs in order on another device, then outputs): copies in, runs, copies out.
void run_from(GraphExecutor& graph, Args args) {
  int inputs = args[2].to<int>();
  if (inputs < 0 || inputs % 2 || 3 + inputs > args.size())
    throw Error(ValueError) << "run_from_inputs takes names and tensors in turn";
  for (int i = 0; i < inputs; i += 2) graph.set_input(index_of(graph, args[3 + i]), args[4 + i].to<DLTensor*>());
  graph.run();
  DLDevice device{static_cast<DLDeviceType>(args[0].to<int>()), args[1].to<int>()};
  for (int i = 0; i < graph.num_outputs(); ++i) graph.output(i).copy_to(device);
}

Map<String, ObjectRef> input_info(const GraphExecutor& graph) {
  Map<String, ObjectRef> shapes, dtypes;
  for (int i = 0; i < graph.num_inputs(); ++i) {
    if (graph.is_param(i)) continue;
    NDArray tensor = graph.input(i);
    shapes.set(String(graph.input_name(i)),
               ShapeTuple(std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end())));
    dtypes.set(String(graph.input_name(i)), String(to_text(tensor.dtype())));
  }
  return {{"shape", shapes}, {"dtype", dtypes}};
}

}  // namespace

PackedFunc GraphExecutorModule::get_function(const std::string& name, const Module& self) {
  GraphExecutor* graph = &executor;
  if (name == "run") return typed(name, [self, graph] { graph->run(); });
  if (name == "get_num_inputs") return typed(name, [self, graph] { return graph->num_inputs(); });
  if (name == "get_output_names")
    return typed(name, [self, graph] {
      const auto& names = graph->graph().output_names;
      return Array<String>(names.begin(), names.end());
    });
  if (name == "get_memory_bytes") return typed(name, [self, graph] { return graph->memory(); });
  if (name == "get_num_outputs") return typed(name, [self, graph] { return graph->num_outputs(); });
  if (name == "get_input_index") return typed(name, [self, graph](std::string n) { return graph->input_index(n); });
  if (name == "set_input" || name == "set_input_zero_copy") {
    bool copies = name == "set_input";
    return typed(name, [self, graph, copies](AnyView key, DLTensor* data) {
      int index = index_of(*graph, key);
      copies ? graph->set_input(index, data) : graph->set_input_zero_copy(index, data);
    });
  }
  if (name == "set_output_zero_copy")
    return typed(name, [self, graph](int index, DLTensor* data) { graph->set_output_zero_copy(index, data); });
  if (name == "get_input")
    return PackedFunc(
        [self, graph](Args args, Any* result) { give(graph->input(index_of(*graph, args[0])), args, 1, result); });
  if (name == "get_output")
    return PackedFunc(
        [self, graph](Args args, Any* result) { give(graph->output(args[0].to<int>()), args, 1, result); });
  if (name == "run_from_inputs") return PackedFunc([self, graph](Args args, Any*) { run_from(*graph, args); });
  if (name == "load_params")
    return typed(name, [self, graph](std::string blob) { graph->load_params(tessera::load_params(blob)); });
  if (name == "share_params")
    return typed(name, [self, graph](Module other, std::string blob) {
      auto* from = dynamic_cast<GraphExecutorModule*>(other.operator->());
      if (!from) throw Error(TypeError) << "share_params: the other module is no graph executor";
      graph->share_params(from->executor, tessera::load_params(blob));
    });
  if (name == "get_input_info") return typed(name, [self, graph] { return input_info(*graph); });
  return nullptr;
}

namespace {

/// Graph, parameters and code in one: what `relay.build` gives and a library file holds. The executors it makes share
/// all three.
class GraphExecutorFactory final : public ModuleBody {
 public:
  GraphExecutorFactory(std::string graph_json, Map<String, NDArray> params, std::string name)
      : graph_json_(std::move(graph_json)),
        graph_(std::make_shared<const Graph>(Graph::parse(graph_json_))),
        params_(std::move(params)),
        name_(std::move(name)) {}

  std::string type_key() const override { return "GraphExecutorFactory"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == name_)
      return PackedFunc(
          [self, this](Args args, Any* result) { *result = Any(make<GraphExecutorModule>(self, args, 0)); });
    if (name == "debug_create")
      return PackedFunc([self, this](Args args, Any* result) {
        if (args.size() < 2) throw Error(TypeError) << "debug_create takes the name of the model and devices";
        if (args[0].to<std::string>() != name_)
          throw Error(ValueError) << "the library holds the model \"" << name_ << "\", not \""
                                  << args[0].to<std::string>() << "\"";
        *result = Any(make<DebugGraphExecutor>(self, args, 1));
      });
    if (name == "cuda_graph_create")
      return PackedFunc(
          [self, this](Args args, Any* result) { *result = Any(make<RecordedGraphExecutor>(self, args, 0)); });
    if (name == "get_model_name") return typed(name, [self, this] { return name_; });
    if (name == "get_graph_json") return typed(name, [self, this] { return graph_json_; });
    if (name == "get_graph_params") return typed(name, [self, this] { return params_; });
    if (name == "remove_params")
      return typed(name, [self, this] {
        Module bare = make_module<GraphExecutorFactory>(graph_json_, Map<String, NDArray>(), name_);
        for (const auto& import : self.imports()) bare.import_module(Module(import));
        return bare;
      });
    return nullptr;
  }

  void save_to_binary(ByteWriter& out) override {
    out.write(graph_json_);
    out.write(save_params(params_));
    out.write(name_);
  }
  static Module load_from_binary(void* stream) {
    auto& in = *static_cast<ByteReader*>(stream);
    std::string json = in.read_string("the graph");
    std::string params = in.read_string("the parameters");
    return make_module<GraphExecutorFactory>(json, load_params(params), in.read_string("the name of the model"));
  }

 private:
  /// An executor on the devices that are the arguments from `first` on.
  template <class Executor>
  Module make(const Module& self, Args args, int first) const {
    if (self.imports().empty()) throw Error(ValueError) << "the graph executor factory has no library to call";
    std::vector<DLDevice> devices;
    for (int i = first; i < args.size(); ++i) devices.push_back(args[i].to<DLDevice>());
    if (devices.empty()) throw Error(ValueError) << "the graph executor needs a device to run on";
    return make_module<Executor>(graph_, self, devices, params_on(devices[0]));
  }

  /// The parameters in the memory of a device, copied there once.
  Map<String, NDArray> params_on(DLDevice device) const {
    if (device.device_type == kDLCPU) return params_;
    std::lock_guard lock(mutex_);
    std::pair<int, int> key{device.device_type, device.device_id};
    if (auto at = copies_.find(key); at != copies_.end()) return at->second;
    Map<String, NDArray> copies;
    for (const auto& [name, tensor] : params_) copies.set(name, tensor.copy_to(device));
    return copies_.emplace(key, copies).first->second;
  }

  std::string graph_json_;
  std::shared_ptr<const Graph> graph_;
  Map<String, NDArray> params_;
  std::string name_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int, int>, Map<String, NDArray>> copies_;
};

}  // namespace

Module make_graph_factory(std::string graph_json, const Module& library, Map<String, NDArray> params,
                          std::string name) {
  if (library.get_function("_lookup_linked_param", true))
    for (const auto& [param, tensor] : linked_params(Graph::parse(graph_json), library))
      if (!params.count(param)) params.set(param, tensor);
  Module factory = make_module<GraphExecutorFactory>(std::move(graph_json), std::move(params), std::move(name));
  factory.import_module(library);
  return factory;
}

Map<String, NDArray> linked_params(const Graph& graph, const Module& code) {
  Map<String, NDArray> out;
  PackedFunc look_up = code.get_function("_lookup_linked_param", true);
  if (!look_up) return out;
  for (uint32_t node : graph.inputs) {
    Any found = look_up(graph.nodes[node].name);
    if (!found.is_null()) out.set(String(graph.nodes[node].name), found.to<NDArray>());
  }
  return out;
}

std::vector<DLDevice> devices_from(Args args, int first) {
  std::vector<DLDevice> out;
  for (int i = first; i + 1 < args.size(); i += 2)
    out.push_back({static_cast<DLDeviceType>(args[i].to<int>()), args[i + 1].to<int>()});
  return out;
}

static Globals module_globals{
    {"tvm.graph_executor.create", PackedFunc([](Args args, Any* result) {
       if (args.size() < 4) throw Error(TypeError) << "graph_executor.create takes a graph, a library and devices";
       int first = args.size() % 2;  // a callback for look-ups may stand before the devices
       auto graph = std::make_shared<const Graph>(Graph::parse(args[0].to<std::string>()));
       auto code = args[1].to<Module>();
       *result = Any(
           make_module<GraphExecutorModule>(graph, code, devices_from(args, 2 + first), linked_params(*graph, code)));
     })},
    {"tvm.graph_executor_factory.create", PackedFunc([](Args args, Any* result) {
       if (args.size() < 3) throw Error(TypeError) << "graph_executor_factory.create takes a graph, a library, a name";
       Map<String, NDArray> params;
       for (int i = 3; i + 1 < args.size(); i += 2) params.set(args[i].to<String>(), args[i + 1].to<NDArray>());
       *result =
           Any(make_graph_factory(args[0].to<std::string>(), args[1].to<Module>(), params, args[2].to<std::string>()));
     })},
    {"runtime.module.loadbinary_GraphExecutorFactory",
     [](void* stream) { return GraphExecutorFactory::load_from_binary(stream); }},
};

}  // namespace tessera
