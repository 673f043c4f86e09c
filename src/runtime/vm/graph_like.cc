// A program of the virtual machine behind the functions that the graph executor has, so that whoever runs a model need
// not know which of the two it was compiled for: set_input, run, get_output, ...

#include "runtime/vm/graph_like.h"

#include "runtime/package/params.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {
namespace {

class GraphLike final : public ModuleBody {
 public:
  GraphLike(const Module& executable, std::vector<DLDevice> devices)
      : machine_(executable, with_host(std::move(devices)), true),
        main_(machine_.program().functions[machine_.program().index_of("main")]),
        inputs_(main_.params.size()) {}

  std::string type_key() const override { return "VirtualMachine"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "set_input" || name == "set_input_zero_copy")
      return typed(name, [self, this](AnyView key, NDArray value) { set_input(place_of(key), value); });
    if (name == "run") return typed(name, [self, this] { run(); });
    if (name == "get_num_inputs") return typed(name, [self, this] { return main_.params.size(); });
    if (name == "get_output_names") {
      Array<String> names;
      for (const Parameter& result : main_.results) names.push_back(String(result.name));
      return typed(name, [self, names] { return names; });
    }
    if (name == "get_num_outputs") return typed(name, [self, this] { return outputs().size(); });
    if (name == "get_input_index") return typed(name, [self, this](std::string input) { return index_of(input); });
    if (name == "get_output")
      return PackedFunc([self, this](Args args, Any* result) { give(output(args[0].to<int64_t>()), args, result); });
    if (name == "get_input")
      return PackedFunc([self, this](Args args, Any* result) { give(inputs_[place_of(args[0])], args, result); });
    if (name == "get_input_info") return typed(name, [self, this] { return input_info(); });
    if (name == "load_params")
      return typed(name, [self, this](std::string blob) {
        for (const auto& [input, value] : tessera::load_params(blob))
          if (int64_t index = index_of(std::string(input)); index >= 0) set_input(static_cast<size_t>(index), value);
      });
    if (name == "share_params")
      return typed(name,
                   [](Module, std::string) {
                     throw Error(NotImplementedError)
                         << "share_params: the constants of a program of the virtual machine are shared "
                            "by all executors that were made from it";
                   });
    return nullptr;
  }

 private:
  static std::vector<DLDevice> with_host(std::vector<DLDevice> devices) {
    if (devices.empty()) throw Error(ValueError) << "the virtual machine needs a device to run on";
    devices.push_back(cpu());
    return devices;
  }

  int64_t index_of(const std::string& input) const {
    for (size_t i = 0; i < main_.params.size(); ++i)
      if (main_.params[i].name == input) return static_cast<int64_t>(i);
    return -1;
  }
  size_t place_of(const AnyView& key) const {
    bool is_number = key.code() == kTesseraInt;
    int64_t index = is_number ? key.to<int64_t>() : index_of(key.to<std::string>());
    if (index < 0 || static_cast<size_t>(index) >= main_.params.size())
      throw Error(ValueError) << "the model has no input "
                              << (is_number ? std::to_string(index) : "\"" + key.to<std::string>() + "\"");
    return static_cast<size_t>(index);
  }

  /// Keeps the contents, as the graph executor does; the caller may use its tensor again.
  void set_input(size_t index, const NDArray& value) {
    NDArray kept = value.copy_to(machine_.device());
    machine_.set_input("main", index, kept);
    inputs_[index] = kept;
  }

  void run() {
    outputs_.clear();
    flatten(machine_.invoke("main"));
    has_run_ = true;
  }
  void flatten(const ObjectRef& value) {
    if (auto* tensor = value.as<NDArrayNode>()) return outputs_.push_back(NDArray(tensor));
    auto* data = value.as<ADTNode>();
    if (!data) throw Error(TypeError) << "a result of the model is a " << value->type_key() << ", not a tensor";
    for (const ObjectRef& part : data->values) flatten(part);
  }
  const std::vector<NDArray>& outputs() const {
    if (!has_run_) throw Error(ValueError) << "the results of a model with open shapes are known after run";
    return outputs_;
  }
  NDArray output(int64_t index) const {
    if (index < 0 || static_cast<size_t>(index) >= outputs().size())
      throw Error(IndexError) << "output " << index << " of a model that has " << outputs().size();
    return outputs_[static_cast<size_t>(index)];
  }
  static void give(const NDArray& tensor, Args args, Any* result) {
    if (args.size() <= 1) return void(*result = Any(tensor));
    copy_tensor(tensor.tensor(), args[1].to<DLTensor*>());
  }

  Map<String, ObjectRef> input_info() const {
    Map<String, ObjectRef> shapes, dtypes, dims;
    for (const Parameter& param : main_.params) {
      if (!param.dims.empty()) dims.set(String(param.name), Array<String>(param.dims.begin(), param.dims.end()));
      shapes.set(String(param.name), ShapeTuple(param.shape));
      dtypes.set(String(param.name), String(to_text(param.dtype)));
    }
    return {{"shape", shapes}, {"dtype", dtypes}, {"dim_names", dims}};
  }

  Machine machine_;
  const Function& main_;
  std::vector<NDArray> inputs_, outputs_;
  bool has_run_ = false;
};

}  // namespace

Module make_graph_like(const Module& executable, std::vector<DLDevice> devices) {
  return make_module<GraphLike>(executable, std::move(devices));
}

}  // namespace tessera::vm
