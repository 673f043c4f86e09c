// The virtual machine as a module, under the names v0.10 gives its functions.

#include "runtime/registry.h"
#include "runtime/vm/machine.h"
#include "runtime/vm/profile.h"

namespace tessera::vm {
namespace {

enum AllocatorKind : int { kNaive = 1, kPooled = 2 };

ObjectRef object_of(const AnyView& value) {
  if (value.code() == kTesseraDLTensor) {  // borrowed: the contents are copied
    auto* tensor = static_cast<DLTensor*>(value.raw().v_handle);
    NDArray out = NDArray::empty({tensor->shape, static_cast<size_t>(tensor->ndim)}, DataType(tensor->dtype));
    copy_tensor(tensor, out.tensor());
    return out;
  }
  ObjectRef out(value.object());
  if (!out)
    throw Error(TypeError) << "an argument of the virtual machine must be a tensor or a tuple of tensors, got "
                           << value.type_name();
  return out;
}

/// All tensors of a result, tuples opened.
void flatten(const ObjectRef& value, std::vector<ObjectRef>* out) {
  if (auto* data = value.as<ADTNode>()) out->insert(out->end(), data->values.begin(), data->values.end());
  else out->push_back(value);
}

class MachineModule final : public ModuleBody {
 public:
  explicit MachineModule(Module executable) : executable_(std::move(executable)) {}

  std::string type_key() const override { return "VirtualMachine"; }

  PackedFunc get_function(const std::string& name, const Module& self) override {
    if (name == "init") return PackedFunc([self, this](Args args, Any*) { init(args); });
    if (name == "set_input")
      return PackedFunc([self, this](Args args, Any*) {
        std::vector<ObjectRef> values;
        for (int i = 1; i < args.size(); ++i) values.push_back(object_of(args[i]));
        machine().set_inputs(args[0].to<std::string>(), std::move(values));
      });
    if (name == "set_one_input" || name == "set_input_with_index")
      return typed(name, [self, this](std::string function, AnyView key, AnyView value) {
        machine().set_input(function, input_index(function, key), object_of(value));
      });
    if (name == "set_outputs")
      return PackedFunc([self, this](Args args, Any*) {
        std::vector<NDArray> tensors;
        for (int i = 1; i < args.size(); ++i) tensors.push_back(args[i].to<NDArray>());
        machine().set_outputs(args[0].to<std::string>(), std::move(tensors));
      });
    if (name == "invoke")  // its results are also what get_output gives, until the next call
      return typed(name, [self, this](std::string function) {
        outputs_.clear();
        ObjectRef result = machine().invoke(function);
        flatten(result, &outputs_);
        return result;
      });
    if (name == "invoke_stateful")
      return typed(name, [self, this](std::string function) {
        outputs_.clear();
        flatten(machine().invoke(function), &outputs_);
      });
    if (name == "invoke_return_to_device")
      return typed(name, [self, this](int device_type, int device_id, std::string function) {
        ObjectRef result = machine().invoke(function);
        std::vector<ObjectRef> tensors;
        flatten(result, &tensors);
        for (ObjectRef& tensor : tensors)
          if (auto* node = tensor.as<NDArrayNode>())
            tensor = NDArray(node).copy_to({static_cast<DLDeviceType>(device_type), device_id});
        return tensors.size() == 1 ? tensors[0] : ObjectRef(Array<ObjectRef>(tensors.begin(), tensors.end()));
      });
    if (name == "get_num_outputs") return typed(name, [self, this] { return outputs_.size(); });
    if (name == "get_output")
      return typed(name, [self, this](int64_t index) {
        if (index < 0 || static_cast<size_t>(index) >= outputs_.size())
          throw Error(IndexError) << "output " << index << " of " << outputs_.size()
                                  << "; call invoke or invoke_stateful first";
        return outputs_[static_cast<size_t>(index)];
      });
    if (name == "get_input_index")
      return typed(name, [self, this](std::string input, std::string function) { return index_of(function, input); });
    if (name == "profile")
      return typed(name, [self, this](std::string function, profiling::Collectors collectors) {
        return profile(machine(), collectors, [&] { machine().invoke(function); });
      });
    return nullptr;
  }

 private:
  /// (device type, device id, allocator) for each device.
  void init(Args args) {
    std::vector<DLDevice> devices;
    bool pools = true;
    if (args.size() == 0 || args.size() % 3 != 0)
      throw Error(ValueError) << "init takes a device type, a device id and an allocator for each device";
    for (int i = 0; i + 2 < args.size(); i += 3) {
      devices.push_back({static_cast<DLDeviceType>(args[i].to<int>()), args[i + 1].to<int>()});
      int kind = args[i + 2].to<int>();
      if (kind != kNaive && kind != kPooled) throw Error(ValueError) << "there is no allocator of kind " << kind;
      pools = pools && kind == kPooled;
    }
    machine_ = std::make_unique<Machine>(executable_, std::move(devices), pools);
  }

  Machine& machine() {
    if (!machine_) throw Error(ValueError) << "the virtual machine has no device yet; call init first";
    return *machine_;
  }

  int64_t index_of(const std::string& function, const std::string& input) {
    const Program& program = *program_of(executable_);
    const auto& params = program.functions[program.index_of(function)].params;
    for (size_t i = 0; i < params.size(); ++i)
      if (params[i].name == input) return static_cast<int64_t>(i);
    return -1;
  }

  size_t input_index(const std::string& function, const AnyView& key) {
    int64_t index = key.code() == kTesseraInt ? key.to<int64_t>() : index_of(function, key.to<std::string>());
    if (index < 0)
      throw Error(ValueError) << function << " has no input "
                              << (key.code() == kTesseraInt ? std::to_string(index) : key.to<std::string>());
    return static_cast<size_t>(index);
  }

  Module executable_;
  std::unique_ptr<Machine> machine_;
  std::vector<ObjectRef> outputs_;
};

}  // namespace

Module make_machine(Module executable) {
  program_of(executable);  // an error for other kinds of modules
  return make_module<MachineModule>(std::move(executable));
}

static Globals module_globals{
    {"runtime._VirtualMachine", make_machine},
    {"runtime._VirtualMachineDebug", make_machine},
};

}  // namespace tessera::vm
