#include "runtime/package/model_workers.h"

#include <unordered_set>

#include "runtime/containers.h"
#include "runtime/graph_executor/graph_executor.h"
#include "runtime/package/model_names.h"
#include "runtime/vm/machine.h"

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

/// Inputs are read where they lie and results written where the caller gets them, if the executor can; else both are copied.
class ExecutorWorker final : public ModelWorker {
 public:
  explicit ExecutorWorker(const Module& executor)
      : set_input_(function_of(executor, "set_input")),
        run_(function_of(executor, "run")),
        get_output_(function_of(executor, "get_output")),
        use_input_(executor.get_function("set_input_zero_copy")),
        use_output_(executor.get_function("set_output_zero_copy")) {
    auto get_input = function_of(executor, "get_input");
    auto parts = function_of(executor, "get_input_info")().to<Map<String, ObjectRef>>();
    for (const auto& [name, _] : downcast<Map<String, ObjectRef>>(parts["shape"])) {
      auto tensor = get_input(name).to<NDArray>();
      inputs_.push_back(info_of(name.str(), tensor));
      input_devices_.push_back(tensor.device());
      names_.push_back(name);
    }
    Array<String> names;
    if (PackedFunc named = executor.get_function("get_output_names")) names = named().to<Array<String>>();
    auto outputs = function_of(executor, "get_num_outputs")().to<int>();
    for (int i = 0; i < outputs; ++i) {
      auto tensor = get_output_(i).to<NDArray>();
      outputs_.push_back(info_of(static_cast<size_t>(i) < names.size() ? names[static_cast<size_t>(i)].str()
                                                                       : output_name(static_cast<size_t>(i)),
                                 tensor));
      output_devices_.push_back(tensor.device());
    }
  }

  const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<TensorInfo>& outputs() const override { return outputs_; }

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

 private:
  PackedFunc set_input_, run_, get_output_;
  PackedFunc use_input_, use_output_;  // may be missing
  std::vector<String> names_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<DLDevice> input_devices_, output_devices_;
};

class MachineWorker final : public ModelWorker {
 public:
  MachineWorker(const Module& executable, DLDevice device)
      : machine_(executable, devices_for(executable, device), true), main_(machine_.program().index_of("main")) {
    for (const vm::Parameter& param : machine_.program().functions[main_].params) {
      if (!param.is_tensor)
        throw Error(TypeError) << "input " << param.name << " is no tensor; tessera.Model takes tensors only, "
                               << "use runtime.vm.VirtualMachine";
      inputs_.push_back({param.name, param.shape, param.dtype, param.dims});
    }
    for (const vm::Parameter& result : machine_.program().functions[main_].results)
      outputs_.push_back({result.name, result.shape, result.dtype});
    for (const NDArray& constant : machine_.program().constants)
      if (constant) constants_.insert(constant.tensor()->data);
  }

  const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<TensorInfo>& outputs() const override { return outputs_; }

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

 private:
  /// One device of each kind that the program needs: the one given, and the first of other kinds.
  static std::vector<DLDevice> devices_for(const Module& executable, DLDevice device) {
    std::vector<DLDevice> out{device};
    for (int32_t type : vm::program_of(executable)->device_types)
      if (type != device.device_type) out.push_back(make_device(type, 0));
    return out;
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
  std::vector<TensorInfo> inputs_, outputs_;
  std::unordered_set<const void*> constants_;
};

}  // namespace

std::unique_ptr<ModelWorker> make_executor_worker(const Module& factory, DLDevice device) {
  PackedFunc named = factory.get_function("get_model_name");
  std::string name = named ? named().to<std::string>() : "default";
  PackedFunc create = factory.get_function(name);
  if (!create)
    throw Error(TypeError) << "the " << factory->type_key() << " module is no compiled model: it has no function \""
                           << name << "\" that makes an executor";
  return std::make_unique<ExecutorWorker>(create(device).to<Module>());
}

std::unique_ptr<ModelWorker> make_machine_worker(const Module& executable, DLDevice device) {
  return std::make_unique<MachineWorker>(executable, device);
}

}  // namespace tessera
