#include "runtime/executable/remote.h"

#include <cstring>

#include "runtime/containers.h"
#include "runtime/graph_executor/graph.h"
#include "runtime/package/model_names.h"
#include "runtime/package/params.h"
#include "runtime/rpc/tracker.h"

namespace tessera {
namespace {

class RemoteGraph final : public Executable {
 public:
  RemoteGraph(std::shared_ptr<rpc::ClientSession> session, const Package& package, DLDevice device)
      : session_(std::move(session)), device_(device) {
    Bytes library(std::string(package.archive[package.library]));
    session_->get_function("tvm.rpc.server.upload")(package.library, library);
    auto code = session_->get_function("tvm.rpc.server.load_module")(package.library).to<Module>();
    PackedFunc create = session_->get_function("tvm.graph_executor.create");
    const std::string json(package.graph());
    executor_ = create(json, code, static_cast<int>(device.device_type), device.device_id).to<Module>();
    const Map<String, NDArray> params = package.params();
    executor_.get_function("load_params")(Bytes(save_params(params)));
    set_input_ = executor_.get_function("set_input");
    get_output_ = executor_.get_function("get_output");
    run_ = executor_.get_function("run");
    describe(Graph::parse(json), params);
  }

  const char* kind() const override { return "graph"; }

  std::vector<NDArray> run(std::span<const NDArray> inputs, std::span<const NDArray>) override {
    for (size_t i = 0; i < inputs.size(); ++i) set_input_(inputs_[i].name, inputs[i]);
    run_();
    std::vector<NDArray> results;
    for (size_t i = 0; i < outputs_.size(); ++i) results.push_back(get_output_(i).to<NDArray>().copy_to(cpu()));
    return results;
  }

  profiling::Report profile(std::span<const NDArray>, const profiling::Collectors&) override {
    throw Error(NotImplementedError) << "kernels of a program on another machine are not profiled from here; run "
                                     << "`tessera run --profile` there";
  }

  std::vector<double> measure(int64_t number, int64_t repeat) override {
    auto evaluate =
        session_
            ->get_function("runtime.RPCTimeEvaluator")(executor_, "run", static_cast<int>(device_.device_type),
                                                       device_.device_id, number, repeat, 0, 0, 0, 1, "")
            .to<PackedFunc>();
    const auto bytes = evaluate().to<Bytes>();
    std::vector<double> out(bytes.str().size() / sizeof(double));
    std::memcpy(out.data(), bytes.str().data(), out.size() * sizeof(double));
    return out;
  }

  size_t memory() const override { return executor_.get_function("get_memory_bytes")().to<size_t>(); }

 private:
  void describe(const Graph& graph, const Map<String, NDArray>& params) {
    auto info = [&](std::string name, const Graph::Entry& entry) {
      return TensorInfo{std::move(name), entry.shape, entry.dtype};
    };
    for (uint32_t node : graph.inputs)
      if (!params.count(String(graph.nodes[node].name)))
        inputs_.push_back(info(graph.nodes[node].name, graph.entries[graph.first_entry[node]]));
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const std::string name = i < graph.output_names.size() ? graph.output_names[i] : output_name(i);
      outputs_.push_back(info(name, graph.entries[graph.entry(graph.outputs[i])]));
    }
  }

  std::shared_ptr<rpc::ClientSession> session_;
  DLDevice device_;  // as the server knows it
  Module executor_;
  PackedFunc set_input_, run_, get_output_;
};

}  // namespace

std::unique_ptr<Executable> make_remote_executable(const std::shared_ptr<rpc::ClientSession>& session,
                                                   const Package& package, DLDevice device) {
  if (package.kind != Package::Classic || !package.variants.empty())
    throw Error(NotImplementedError) << package.archive.path() << " is a "
                                     << (package.variants.empty() ? package.kind_name() : "portable")
                                     << " package; on another machine graphs for one CPU run "
                                     << "(`tessera compile --executor graph --target \"llvm -mcpu=...\"`)";
  return std::make_unique<RemoteGraph>(session, package, device);
}

std::shared_ptr<rpc::ClientSession> remote_session(const std::string& host, int port, const std::string& key) {
  constexpr int kPriority = 1;
  return key.empty() ? rpc::connect(host, port, "") : rpc::request_session(host, port, key, kPriority);
}

}  // namespace tessera
