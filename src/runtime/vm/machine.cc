#include "runtime/vm/machine.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/device.h"
#include "runtime/executable/tensor_info.h"
#include "runtime/package/model_names.h"

namespace tessera::vm {
namespace {

std::string parameter_text(const Parameter& param) {
  return text_of(TensorInfo{param.name, param.shape, param.dtype, param.dims});
}

register_types<ClosureNode> machine_types;

}  // namespace

ADT make_data(int32_t tag, std::vector<ObjectRef> fields) {
  ADTNode node;
  node.tag = tag;
  node.values = std::move(fields);
  return make(std::move(node));
}

Machine::Machine(const Module& executable, std::vector<DLDevice> devices, bool pools_memory)
    : program_(program_of(executable)), executable_(executable) {
  for (int32_t type : program_->device_types) {
    auto it = std::find_if(devices.begin(), devices.end(), [&](DLDevice d) { return d.device_type == type; });
    if (it == devices.end())
      throw Error(ValueError) << "the program runs on devices of type " << type
                              << ", of which none was given to the virtual machine";
    pools_.push_back(std::make_shared<MemoryPool>(*it, pools_memory));
  }
  if (pools_memory) plans_.resize(program_->functions.size());
  Module library = library_of(executable);
  for (const std::string& name : program_->primitives) {
    PackedFunc kernel = library ? library.get_function(name, true) : nullptr;
    if (!kernel) throw Error(ValueError) << "the VM executable calls " << name << ", which its library does not have";
    kernels_.push_back(std::move(kernel));
  }
  for (size_t i = 0; i < program_->constants.size(); ++i) {
    const NDArray& constant = program_->constants[i];
    if (!constant)
      throw Error(ValueError) << "the constant " << program_->constant_names[i]
                              << " is bound late and was not loaded; call load_late_bound_consts first";
  }
  constants_.resize(pools_.size(), std::vector<NDArray>(program_->constants.size()));
  for (const Function& function : program_->functions) {
    for (const Instruction& in : function.code) {
      if (in.op != Opcode::LoadConst) continue;
      auto index = static_cast<size_t>(in.a), where = static_cast<size_t>(in.b);
      NDArray& there = constants_[where][index];
      const NDArray& given = program_->constants[index];
      if (!there)
        there = given.device().device_type == device(where).device_type ? given : given.copy_to(device(where));
    }
  }
}

// ---- calls from outside ---------------------------------------------------------------------------------------

ObjectRef Machine::convert(const Function& function, size_t index, ObjectRef value) const {
  const Parameter& param = function.params[index];
  auto fail = [&](const std::string& got) {
    throw Error(ValueError) << "argument " << index << " (" << param.name << ") of " << function.name << " is "
                            << parameter_text(param) << ", but the value given is " << got;
  };
  auto* given = value.as<NDArrayNode>();
  if (!param.is_tensor) return value;
  if (!given) fail(value ? value->type_key() : "None");
  const DLTensor& tensor = given->tensor;
  bool fits = DataType(tensor.dtype) == param.dtype && tensor.ndim == static_cast<int>(param.shape.size());
  for (size_t i = 0; fits && i < param.shape.size(); ++i)
    fits = param.shape[i] < 0 || param.shape[i] == tensor.shape[i];
  if (!fits) fail(describe(&tensor));
  DLDevice target = device(static_cast<size_t>(param.device));
  return same_device(tensor.device, target) ? value : ObjectRef(NDArray(given).copy_to(target));
}

/// Dimensions of one name are equal in all arguments: kernels count on it.
void Machine::check_dims(const Function& function, std::span<const ObjectRef> args) {
  struct Seen {
    const std::string* name;
    size_t param;
    int64_t extent;
  };
  std::vector<Seen> seen;
  for (size_t i = 0; i < args.size(); ++i) {
    const Parameter& param = function.params[i];
    if (param.dims.empty()) continue;
    const DLTensor& given = args[i].as<NDArrayNode>()->tensor;
    for (size_t d = 0; d < param.dims.size(); ++d) {
      if (param.dims[d].empty()) continue;
      auto it = std::find_if(seen.begin(), seen.end(), [&](const Seen& s) { return *s.name == param.dims[d]; });
      if (it == seen.end()) {
        seen.push_back({&param.dims[d], i, given.shape[d]});
      } else if (it->extent != given.shape[d]) {
        const Parameter& first = function.params[it->param];
        throw Error(ValueError) << "the dimension \"" << param.dims[d] << "\" is " << it->extent << " in the input \""
                                << first.name << "\", but " << given.shape[d] << " in the input \"" << param.name
                                << "\": they are " << parameter_text(first) << " and " << parameter_text(param)
                                << ", and the tensors given are "
                                << describe(&args[it->param].as<NDArrayNode>()->tensor) << " and " << describe(&given);
      }
    }
  }
}

size_t Machine::memory() const {
  std::unordered_set<const MemoryPool*> seen;
  size_t out = 0;
  for (const auto& pool : pools_)
    if (seen.insert(pool.get()).second) out += pool->bytes();
  return out;
}

void Machine::set_inputs(const std::string& name, std::vector<ObjectRef> args) {
  const Function& function = program_->functions[program_->index_of(name)];
  if (args.size() != function.params.size())
    throw Error(ValueError) << "The number of provided parameters doesn't match the number of arguments: " << name
                            << " takes " << function.params.size() << ", " << args.size() << " are given";
  for (size_t i = 0; i < args.size(); ++i) args[i] = convert(function, i, std::move(args[i]));
  inputs_[name] = std::move(args);
}

void Machine::set_input(const std::string& name, size_t index, ObjectRef value) {
  const Function& function = program_->functions[program_->index_of(name)];
  if (index >= function.params.size())
    throw Error(IndexError) << "argument " << index << " of " << name << ", which takes " << function.params.size();
  ObjectRef converted = convert(function, index, std::move(value));
  auto& args = inputs_[name];
  args.resize(function.params.size());
  args[index] = std::move(converted);
}

ObjectRef Machine::invoke(const std::string& name) {
  uint32_t function = program_->index_of(name);
  auto it = inputs_.find(name);
  size_t wanted = program_->functions[function].params.size();
  if (it == inputs_.end() && wanted == 0) return run(function, {});
  if (it == inputs_.end()) throw Error(ValueError) << "the inputs of " << name << " are not set";
  for (size_t i = 0; i < it->second.size(); ++i)
    if (!it->second[i])
      throw Error(ValueError) << "input " << program_->functions[function].params[i].name << " of " << name
                              << " is not set";
  return run(function, it->second);
}

ObjectRef Machine::invoke(uint32_t index, std::vector<ObjectRef> args) {
  const Function& function = program_->functions[index];
  if (args.size() != function.params.size())
    throw Error(ValueError) << function.name << " takes " << function.params.size() << " arguments, " << args.size()
                            << " are given";
  for (size_t i = 0; i < args.size(); ++i) args[i] = convert(function, i, std::move(args[i]));
  return run(index, args);
}

ObjectRef Machine::run(uint32_t index, std::span<const ObjectRef> args) {
  if (is_running_)
    throw Error(RuntimeError) << "this virtual machine is running already; give each thread its own VirtualMachine";
  struct Guard {  // also after an error the machine is empty and may be used again
    Machine* machine;
    ~Guard() {
      machine->frames_.clear();
      machine->registers_.clear();
      machine->base_ = 0;
      machine->is_running_ = false;
      machine->presets_ = nullptr;
    }
  } guard{this};
  is_running_ = true;
  check_dims(program_->functions[index], args);
  auto it = outputs_.find(index);
  if (it != outputs_.end()) presets_ = &it->second;
  push_frame(program_->functions[index], -1);
  for (size_t i = 0; i < args.size(); ++i) reg(static_cast<int64_t>(i)).object = args[i];
  plan_frame();
  ObjectRef result;
  try {
    while (step(&result)) {}
  } catch (Error& error) {
    if (!frames_.empty() && frames_.back().pc > 0)
      add_source_nodes(error, nodes_of(frames_.back().function->code[frames_.back().pc - 1]));
    throw;
  }
  return it != outputs_.end() ? put_out(it->second, result) : result;
}

// ---- results in the caller's memory ----------------------------------------------------------------------------

void Machine::set_outputs(const std::string& name, std::vector<NDArray> tensors) {
  uint32_t index = program_->index_of(name);
  if (tensors.empty()) return void(outputs_.erase(index));
  Outputs out{std::move(tensors), {}};
  // In a function without branches the tensors it returns are found by walking back from its end.
  const Function& function = program_->functions[index];
  std::unordered_map<int64_t, size_t> wanted;
  bool is_straight = std::none_of(function.code.begin(), function.code.end(), [](const Instruction& in) {
    return in.op == Opcode::If || in.op == Opcode::Goto || in.op == Opcode::Fatal;
  });
  for (size_t pc = function.code.size(); is_straight && pc-- > 0;) {
    const Instruction& in = function.code[pc];
    if (in.op == Opcode::Ret) wanted[in.a] = 0;
    auto it = wanted.find(in.dst);
    if (in.dst < 0 || it == wanted.end()) continue;
    size_t result = it->second;
    wanted.erase(it);
    if ((in.op == Opcode::AllocTensor && in.a < 0) || in.op == Opcode::AllocTensorReg) {
      out.made_at.emplace(static_cast<uint32_t>(pc), result);
    } else if (in.op == Opcode::Move) {
      wanted.emplace(in.a, result);
    } else if (in.op == Opcode::AllocADT && pc + 2 == function.code.size()) {
      for (uint32_t i = 0; i < in.count; ++i) wanted.emplace(function.operands[in.first + i], i);
    }
  }
  outputs_[index] = std::move(out);
}

ObjectRef Machine::put_out(const Outputs& outputs, const ObjectRef& result) const {
  std::vector<ObjectRef> results{result};
  if (auto* data = result.as<ADTNode>()) results = data->values;
  if (results.size() != outputs.tensors.size())
    throw Error(ValueError) << "the function gives " << results.size() << " results, but " << outputs.tensors.size()
                            << " tensors were set for them";
  for (size_t i = 0; i < results.size(); ++i) {
    auto* tensor = results[i].as<NDArrayNode>();
    if (!tensor) throw Error(ValueError) << "result " << i << " is no tensor and cannot be put into one";
    const NDArray& to = outputs.tensors[i];
    if (tensor == to.get()) continue;
    if (!has_type(&tensor->tensor, to.shape(), to.dtype()))
      throw Error(ValueError) << "result " << i << " is " << describe(&tensor->tensor)
                              << ", but the tensor set for it is " << describe(to.tensor());
    to.copy_from(NDArray(tensor));
    results[i] = to;
  }
  return result.as<ADTNode>() ? make_data(result.as<ADTNode>()->tag, results) : results[0];
}

}  // namespace tessera::vm
