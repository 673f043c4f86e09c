#include "runtime/executable/executable.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/containers.h"
#include "runtime/graph_executor/graph_executor.h"
#include "runtime/package/model_names.h"
#include "runtime/vm/machine.h"
#include "runtime/vm/profile.h"

namespace tessera {
namespace {

PackedFunc function_of(const Module& module, const char* name) {
  PackedFunc found = module.get_function(name);
  if (!found)
    throw Error(TypeError) << "a model's executor needs the function " << name << ", but the " << module->type_key()
                           << " module has none";
  return found;
}

TensorInfo info_of(std::string name, const NDArray& tensor) {
  return {std::move(name), {tensor.shape().begin(), tensor.shape().end()}, tensor.dtype()};
}

std::string model_name(const Module& factory) {
  PackedFunc named = factory.get_function("get_model_name");
  return named ? named().to<std::string>() : "default";
}

/// An executor that a factory makes, by its packed functions. Inputs are read where they lie and results written where the
/// caller gets them, if the executor can; else both are copied.
class GraphExecutable final : public Executable {
 public:
  GraphExecutable(Module factory, DLDevice device) : factory_(std::move(factory)), device_(device) {
    std::string name = model_name(factory_);
    PackedFunc create = factory_.get_function(name);
    if (!create)
      throw Error(TypeError) << "the " << factory_->type_key() << " module is no compiled model: it has no function \""
                             << name << "\" that makes an executor";
    executor_ = create(device).to<Module>();
    set_input_ = function_of(executor_, "set_input");
    run_ = function_of(executor_, "run");
    get_output_ = function_of(executor_, "get_output");
    use_input_ = executor_.get_function("set_input_zero_copy");
    use_output_ = executor_.get_function("set_output_zero_copy");
    find_inputs();
    find_outputs();
  }

  const char* kind() const override { return "graph"; }

  std::vector<NDArray> run(std::span<const NDArray> inputs, std::span<const NDArray> outs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool is_usable = use_input_ && GraphExecutor::is_usable(inputs[i].tensor(), input_devices_[i]);
      (is_usable ? use_input_ : set_input_)(names_[i], inputs[i]);
    }
    std::vector<NDArray> results;
    if (use_output_) {
      for (size_t i = 0; i < outputs_.size(); ++i) {
        const bool is_given =
            i < outs.size() && outs[i] && GraphExecutor::is_usable(outs[i].tensor(), output_devices_[i]);
        results.push_back(is_given ? outs[i]
                                   : NDArray::empty(outputs_[i].shape, outputs_[i].dtype, output_devices_[i]));
        use_output_(i, results.back());
      }
    }
    run_();
    for (size_t i = 0; !use_output_ && i < outputs_.size(); ++i) {
      auto inner = get_output_(i).to<NDArray>();  // the executor's own memory
      results.push_back(inner.copy_to(inner.device()));
    }
    return results;
  }

  profiling::Report profile(std::span<const NDArray> inputs, const profiling::Collectors& collectors) override {
    if (!debug_) debug_ = function_of(factory_, "debug_create")(model_name(factory_), device_).to<Module>();
    PackedFunc set_input = function_of(debug_, "set_input");
    for (size_t i = 0; i < inputs.size(); ++i) set_input(names_[i], inputs[i]);
    return function_of(debug_, "profile")(collectors).to<profiling::Report>();
  }

  size_t memory() const override {
    PackedFunc bytes = executor_.get_function("get_memory_bytes");
    return bytes ? bytes().to<size_t>() : 0;
  }

 private:
  void find_inputs() {
    auto get_input = function_of(executor_, "get_input");
    auto parts = function_of(executor_, "get_input_info")().to<Map<String, ObjectRef>>();
    Map<String, ObjectRef> dims;
    if (parts.count("dim_names")) dims = downcast<Map<String, ObjectRef>>(parts["dim_names"]);
    for (const auto& [name, _] : downcast<Map<String, ObjectRef>>(parts["shape"])) {
      auto tensor = get_input(name).to<NDArray>();
      inputs_.push_back(info_of(name.str(), tensor));
      if (dims.count(name))
        for (const String& dim : downcast<Array<String>>(dims[name])) inputs_.back().dims.push_back(dim.str());
      input_devices_.push_back(tensor.device());
      names_.push_back(name);
    }
  }

  void find_outputs() {
    Array<String> names;
    if (PackedFunc named = executor_.get_function("get_output_names")) names = named().to<Array<String>>();
    auto count = function_of(executor_, "get_num_outputs")().to<size_t>();
    for (size_t i = 0; i < count; ++i) {
      auto tensor = get_output_(i).to<NDArray>();
      outputs_.push_back(info_of(i < names.size() ? names[i].str() : output_name(i), tensor));
      output_devices_.push_back(tensor.device());
    }
  }

  Module factory_, executor_, debug_;
  DLDevice device_;
  PackedFunc set_input_, run_, get_output_;
  PackedFunc use_input_, use_output_;  // may be missing
  std::vector<String> names_;
  std::vector<DLDevice> input_devices_, output_devices_;
};

/// The function "main" of a program of the virtual machine.
class VmExecutable final : public Executable {
 public:
  VmExecutable(const Module& program, const std::vector<DLDevice>& devices)
      : machine_(program, devices_for(program, devices), true), main_(machine_.program().index_of("main")) {
    for (const vm::Parameter& param : machine_.program().functions[main_].params) {
      if (!param.is_tensor)
        throw Error(TypeError) << "input " << param.name << " is no tensor; models take tensors only, use "
                               << "runtime.vm.VirtualMachine";
      inputs_.push_back({param.name, param.shape, param.dtype, param.dims});
    }
    for (const vm::Parameter& result : machine_.program().functions[main_].results)
      outputs_.push_back({result.name, result.shape, result.dtype});
    for (const NDArray& constant : machine_.program().constants)
      if (constant) constants_.insert(constant.tensor()->data);
  }

  const char* kind() const override { return "vm"; }

  std::vector<NDArray> run(std::span<const NDArray> inputs, std::span<const NDArray>) override {
    std::unordered_set<const void*> given;
    for (const NDArray& input : inputs) given.insert(input.tensor()->data);
    std::vector<NDArray> results;
    flatten(machine_.invoke(main_, {inputs.begin(), inputs.end()}), &results);
    for (NDArray& result : results) {
      const void* data = result.tensor()->data;
      if (given.count(data) || constants_.count(data)) result = result.copy_to(result.device());
    }
    return results;
  }

  profiling::Report profile(std::span<const NDArray> inputs, const profiling::Collectors& collectors) override {
    return vm::profile(machine_, collectors, [&] { machine_.invoke(main_, {inputs.begin(), inputs.end()}); });
  }

  size_t memory() const override { return machine_.memory(); }

 private:
  static std::vector<DLDevice> devices_for(const Module& program, std::vector<DLDevice> devices) {
    auto has = [&](int type) {
      return std::any_of(devices.begin(), devices.end(), [&](DLDevice device) { return device.device_type == type; });
    };
    for (int32_t type : vm::program_of(program)->device_types)
      if (!has(type)) devices.push_back(make_device(type, 0));
    if (!has(kDLCPU)) devices.push_back(cpu());
    return devices;
  }

  static void flatten(const ObjectRef& value, std::vector<NDArray>* out) {
    if (auto* tuple = value.as<ADTNode>()) {
      for (const ObjectRef& field : tuple->values) flatten(field, out);
    } else if (auto* tensor = value.as<NDArrayNode>()) {
      out->push_back(NDArray(tensor));
    } else {
      throw Error(TypeError) << "the model gives a value that is no tensor; use runtime.vm.VirtualMachine";
    }
  }

  vm::Machine machine_;
  uint32_t main_;
  std::unordered_set<const void*> constants_;
};

}  // namespace

bool is_vm_program(const Module& compiled) { return compiled->type_key() == "VMExecutable"; }

DLDevice default_device(const Module& compiled) {
  int type = 0;
  if (is_vm_program(compiled)) {
    const auto& types = vm::program_of(compiled)->device_types;
    if (!types.empty()) type = types[0];
  } else if (PackedFunc json = compiled.get_function("get_graph_json")) {
    Graph graph = Graph::parse(json().to<std::string>());
    if (!graph.entries.empty()) type = graph.entries[0].device_type;
  }
  return make_device(type ? type : kDLCPU, 0);
}

std::unique_ptr<Executable> make_executable(const Module& compiled, const std::vector<DLDevice>& devices) {
  if (devices.empty()) throw Error(ValueError) << "a compiled model needs a device to run on";
  if (is_vm_program(compiled)) return std::make_unique<VmExecutable>(compiled, devices);
  return std::make_unique<GraphExecutable>(compiled, devices[0]);
}

}  // namespace tessera
