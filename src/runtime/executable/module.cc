#include "runtime/executable/module.h"

#include "runtime/containers.h"
#include "runtime/package/params.h"

namespace tessera {
namespace {

class ExecutorModule final : public ModuleBody {
 public:
  ExecutorModule(std::unique_ptr<Executable> executable, DLDevice device)
      : executable_(std::move(executable)), device_(device), inputs_(infos().size()) {}

  std::string type_key() const override { return "VirtualMachine"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "set_input" || name == "set_input_zero_copy")
      return typed(name, [self, this](AnyView key, NDArray value) { set_input(checked_index(key), value); });
    if (name == "run") return typed(name, [self, this] { run(); });
    if (name == "get_num_inputs") return typed(name, [self, this] { return infos().size(); });
    if (name == "get_output_names") {
      Array<String> names;
      for (const TensorInfo& output : executable_->outputs()) names.push_back(String(output.name));
      return typed(name, [self, names] { return names; });
    }
    if (name == "get_num_outputs") return typed(name, [self, this] { return outputs().size(); });
    if (name == "get_input_index") return typed(name, [self, this](std::string input) { return index_of(input); });
    if (name == "get_output")
      return PackedFunc([self, this](Args args, Any* result) { give(output(args[0].to<int64_t>()), args, result); });
    if (name == "get_input")
      return PackedFunc([self, this](Args args, Any* result) { give(inputs_[checked_index(args[0])], args, result); });
    if (name == "get_input_info") return typed(name, [self, this] { return input_info(); });
    if (name == "get_memory_bytes") return typed(name, [self, this] { return executable_->memory(); });
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
  const std::vector<TensorInfo>& infos() const { return executable_->inputs(); }

  int64_t index_of(const std::string& input) const {
    for (size_t i = 0; i < infos().size(); ++i)
      if (infos()[i].name == input) return static_cast<int64_t>(i);
    return -1;
  }
  size_t checked_index(const AnyView& key) const {
    bool is_number = key.code() == kTesseraInt;
    int64_t index = is_number ? key.to<int64_t>() : index_of(key.to<std::string>());
    if (index < 0 || static_cast<size_t>(index) >= infos().size())
      throw Error(ValueError) << "the model has no input "
                              << (is_number ? std::to_string(index) : "\"" + key.to<std::string>() + "\"");
    return static_cast<size_t>(index);
  }

  /// Keeps the contents, as the graph executor does; the caller may use its tensor again.
  void set_input(size_t index, const NDArray& value) {
    check_input(infos()[index], value.tensor());
    inputs_[index] = value.copy_to(device_);
  }

  void run() {
    check_inputs(infos(), inputs_);
    outputs_ = executable_->run(inputs_, {});
    has_run_ = true;
  }
  const std::vector<NDArray>& outputs() const {
    if (!has_run_) throw Error(ValueError) << "the results of a model with dynamic shapes are known after run";
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
    for (const TensorInfo& input : infos()) {
      if (!input.dims.empty()) dims.set(String(input.name), Array<String>(input.dims.begin(), input.dims.end()));
      shapes.set(String(input.name), ShapeTuple(input.shape));
      dtypes.set(String(input.name), String(to_text(input.dtype)));
    }
    return {{"shape", shapes}, {"dtype", dtypes}, {"dim_names", dims}};
  }

  std::unique_ptr<Executable> executable_;
  DLDevice device_;
  std::vector<NDArray> inputs_, outputs_;
  bool has_run_ = false;
};

}  // namespace

Module make_executor_module(std::unique_ptr<Executable> executable, DLDevice device) {
  return make_module<ExecutorModule>(std::move(executable), device);
}

}  // namespace tessera
