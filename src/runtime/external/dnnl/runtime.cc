// Modules of type "dnnl_json": graphs of which oneDNN runs every node. Tensors keep the format the library likes from node to node;
// constants are brought into it once.

#include "runtime/external/dnnl/runtime.h"

#include "runtime/external/dnnl/nodes.h"
#include "runtime/external/json_runtime.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

class DnnlRuntime final : public JsonRuntime {
 public:
  using JsonRuntime::JsonRuntime;
  std::string type_key() const override { return "dnnl_json"; }

 protected:
#ifdef TESSERA_HAS_DNNL
  void initialize(const std::vector<NDArray>& constants) override {
    constants_ = constants;
    program_ = dnnl::program_of(graph(), constants_);
  }
  void run(const std::vector<DLTensor*>& inputs, const std::vector<DLTensor*>& outputs) override {
    std::vector<void*> in, out;
    for (DLTensor* tensor : inputs) in.push_back(data_of(tensor));
    for (DLTensor* tensor : outputs) out.push_back(data_of(tensor));
    program_.run(in, out);
  }

 private:
  std::vector<NDArray> constants_;
  dnnl::Program program_;
#else
  void initialize(const std::vector<NDArray>&) override {
    throw Error(RuntimeError) << "this build has no oneDNN runtime: its headers were not there "
                                 "(Debian: apt install libdnnl-dev, and build again)";
  }
  void run(const std::vector<DLTensor*>&, const std::vector<DLTensor*>&) override {}
#endif
};

bool is_there() {
#ifdef TESSERA_HAS_DNNL
  try {
    dnnl::library();
    return true;
  } catch (const Error&) {
    return false;
  }
#else
  return false;
#endif
}

Globals dnnl_runtime_globals{
    {"runtime.DNNLJSONRuntimeCreate", make_dnnl_json},
    {"runtime.module.loadbinary_dnnl_json", load_json_runtime<DnnlRuntime>},
    {"tessera.dnnl.is_available", is_there},
};

}  // namespace

Module make_dnnl_json(std::string symbol, std::string json, Array<String> const_names) {
  return make_module<DnnlRuntime>(std::move(symbol), std::move(json), std::move(const_names));
}

}  // namespace tessera
