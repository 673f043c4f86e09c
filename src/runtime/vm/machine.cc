#include "runtime/vm/machine.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/executable/tensor_info.h"
#include "runtime/function/element.h"
#include "runtime/function/shape_functions.h"
#include "runtime/package/model_names.h"

namespace tessera::vm {
namespace {

bool same_device(DLDevice a, DLDevice b) { return a.device_type == b.device_type && a.device_id == b.device_id; }

bool has_type(const DLTensor* tensor, std::span<const int64_t> shape, DataType dtype) {
  return DataType(tensor->dtype) == dtype && tensor->ndim == static_cast<int>(shape.size()) &&
         std::equal(shape.begin(), shape.end(), tensor->shape);
}

std::string parameter_text(const Parameter& param) {
  return text_of(TensorInfo{param.name, param.shape, param.dtype, param.dims});
}

/// An integer of a host tensor.
int64_t integer_at(const NDArray& host, int64_t index) {
  DataType dtype = host.dtype();
  if (!dtype.is_integral() || dtype.lanes != 1)
    throw Error(TypeError) << "the virtual machine expected an integer, but the tensor is " << describe(host.tensor());
  return read_int(dtype, host.data<char>() + index * dtype.bytes());
}

double tensor_elements(std::span<const int64_t> shape) {
  double count = 1;
  for (int64_t extent : shape) count *= static_cast<double>(std::max<int64_t>(extent, 1));
  return count;
}

NDArray on_host(const NDArray& tensor) {
  return tensor.device().device_type == kDLCPU ? tensor : tensor.copy_to(cpu());
}

ObjectRef make_data(int32_t tag, std::vector<ObjectRef> fields) {
  ADTNode node;
  node.tag = tag;
  node.values = std::move(fields);
  return make(std::move(node));
}

register_types<ClosureNode> machine_types;

}  // namespace

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

NDArray Machine::preset(const Instruction& in, std::span<const int64_t> shape) {
  if (!presets_ || frames_.size() != 1) return nullptr;
  auto it = presets_->made_at.find(frames_.back().pc - 1);
  if (it == presets_->made_at.end() || it->second >= presets_->tensors.size()) return nullptr;
  const NDArray& tensor = presets_->tensors[it->second];
  bool is_usable = has_type(tensor.tensor(), shape, dtype_of(in.b)) &&
                   same_device(tensor.device(), device(static_cast<size_t>(in.c))) && is_contiguous(tensor.tensor()) &&
                   reinterpret_cast<uintptr_t>(data_of(tensor.tensor())) % kAllocAlignment == 0;
  return is_usable ? tensor : nullptr;
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

// ---- registers ------------------------------------------------------------------------------------------------

void Machine::misuse(int64_t index, const char* expected) const {
  const Value& value = reg(index);
  throw Error(TypeError) << "in " << frames_.back().function->name << " of the virtual machine: register " << index
                         << " holds " << (value.object ? value.object->type_key() : "a number") << ", not " << expected;
}

const NDArrayNode* Machine::tensor(int64_t index) const {
  auto* out = reg(index).object.as<NDArrayNode>();
  if (!out) misuse(index, "a tensor");
  return out;
}

const ADTNode* Machine::data(int64_t index) const {
  auto* out = reg(index).object.as<ADTNode>();
  if (!out) misuse(index, "a tuple or a value of a data type");
  return out;
}

int64_t Machine::number(const Value& value) const {
  if (!value.object) return value.number;
  auto* node = value.object.as<NDArrayNode>();
  if (!node || NDArray(node).size() != 1)
    throw Error(TypeError) << "in " << frames_.back().function->name
                           << " of the virtual machine: a condition must be a tensor of one element";
  return integer_at(on_host(NDArray(node)), 0);
}

std::vector<int64_t> Machine::shape_in(int64_t index) const {
  if (auto* shape = reg(index).object.as<ShapeTupleNode>()) return shape->values;
  NDArray host = on_host(NDArray(tensor(index)));
  if (host.shape().size() > 1) misuse(index, "a shape");
  std::vector<int64_t> out;
  for (int64_t i = 0; i < host.size(); ++i) out.push_back(integer_at(host, i));
  return out;
}

// ---- instructions ---------------------------------------------------------------------------------------------

void Machine::push_frame(const Function& function, int32_t dst) {
  size_t base = registers_.size();
  if (base + function.registers > kMaxRegisters || frames_.size() > kMaxRegisters)
    throw Error(RuntimeError) << "the virtual machine: " << function.name << " is called too deep (" << frames_.size()
                              << " calls inside each other)";
  registers_.resize(base + function.registers);
  frames_.push_back({&function, 0, static_cast<uint32_t>(base), dst, nullptr});
  base_ = base;
}

/// Looks up where the tensors of the frame just entered, whose arguments are there, will lie.
void Machine::plan_frame() {
  if (plans_.empty() || frames_.size() > kMaxPlannedDepth) return;
  const Function* function = frames_.back().function;
  std::unique_ptr<FramePlans>& plans = plans_[static_cast<size_t>(function - program_->functions.data())];
  if (!plans) plans = std::make_unique<FramePlans>(frame_layout(*program_, *function));
  std::shared_ptr<FramePlan> plan = plans->find([&](uint32_t param) { return reg(param).object.as<NDArrayNode>(); });
  if (plan) frames_.back().memory.reset(new FrameMemory{&plans->layout(), std::move(plan), nullptr});
}

/// `is_tail`: the frame of the caller is not needed any more and is taken over.
void Machine::call(const Instruction& in, uint32_t index, std::span<const ObjectRef> bound, bool is_tail) {
  const Function& callee = program_->functions[index];
  if (bound.size() + in.count != callee.params.size())
    throw Error(ValueError) << "the virtual machine: " << callee.name << " takes " << callee.params.size()
                            << " arguments, " << bound.size() + in.count << " are given";
  std::span<const int64_t> args = operands(in);
  if (is_tail) {
    std::vector<ObjectRef> values(bound.begin(), bound.end());
    for (int64_t arg : args) values.push_back(reg(arg).object);
    int32_t dst = frames_.back().dst;
    registers_.resize(base_);
    frames_.pop_back();
    push_frame(callee, dst);
    for (size_t i = 0; i < values.size(); ++i) registers_[base_ + i].object = std::move(values[i]);
    return plan_frame();
  }
  size_t from = base_;
  push_frame(callee, in.dst);
  for (size_t i = 0; i < bound.size(); ++i) registers_[base_ + i].object = bound[i];
  for (size_t i = 0; i < args.size(); ++i)
    registers_[base_ + bound.size() + i].object = registers_[from + static_cast<size_t>(args[i])].object;
  plan_frame();
}

const std::string& Machine::nodes_of(const Instruction& in) const {
  static const std::string unknown;
  return in.source < 0 ? unknown : program_->sources[static_cast<size_t>(in.source)];
}

void Machine::invoke_packed(const Instruction& in) {
  std::span<const int64_t> args = operands(in);
  slots_.resize(args.size());
  codes_.assign(args.size(), kTesseraDLTensor);
  for (size_t i = 0; i < args.size(); ++i) slots_[i].v_handle = const_cast<DLTensor*>(&tensor(args[i])->tensor);
  for (size_t i = 0; in.c && i < args.size(); ++i)
    if (auto* arg = static_cast<DLTensor*>(slots_[i].v_handle);
        tensor_elements({arg->shape, static_cast<size_t>(arg->ndim)}) > static_cast<double>(kMaxDynamicElements))
      throw Error(ValueError) << program_->primitives[static_cast<size_t>(in.a)] << ": the tensor " << describe(arg)
                              << " has 2^31 elements or more, and the kernel, made for shapes known at run time, counts"
                                 " in 32 bits";
  Any result;
  Args packed{slots_.data(), codes_.data(), static_cast<int>(args.size())};
  if (!observer_) return kernels_[static_cast<size_t>(in.a)].call_packed(packed, &result);
  tensors_.clear();
  for (int64_t arg : args) tensors_.push_back(&tensor(arg)->tensor);
  observer_->before_kernel(program_->primitives[static_cast<size_t>(in.a)], tensors_, device(), nodes_of(in));
  kernels_[static_cast<size_t>(in.a)].call_packed(packed, &result);
  observer_->after_kernel();
}

NDArray Machine::allocate(const Instruction& in, std::span<const int64_t> shape) {
  DataType dtype = dtype_of(in.b);
  if (NDArray inside = in_frame(in, shape)) return inside;
  if (NDArray given = preset(in, shape)) return given;
  return make_tensor(*pools_[static_cast<size_t>(in.c)], shape, dtype);
}

/// The tensor at its offset in the frame's memory; null where it has none. It does not keep that memory alive: the layout holds only
/// tensors that die before the frame does.
NDArray Machine::in_frame(const Instruction& in, std::span<const int64_t> shape) {
  FrameMemory* memory = frames_.back().memory.get();
  const int32_t index = memory ? memory->layout->index_at[frames_.back().pc - 1] : -1;
  if (index < 0) return nullptr;
  FramePlan& plan = *memory->plan;
  FramePlan::Slot& slot = plan.slots[static_cast<size_t>(index)];
  const size_t bytes = tensor_bytes(shape, dtype_of(in.b));
  if (slot.offset == FramePlan::kUnknown || slot.bytes != bytes) {
    if (slot.bytes == FramePlan::kUnknown) {
      slot.bytes = bytes;
      plan.has_news = true;
    }
    return nullptr;
  }
  MemoryPool& pool = *pools_[static_cast<size_t>(in.c)];
  if (!memory->data) {
    try {
      memory->data = pool.allocate(plan.bytes, true);
    } catch (const Error&) {  // pieces may still fit
      frames_.back().memory = nullptr;
      return nullptr;
    }
  }
  void* data = static_cast<char*>(memory->data.get()) + slot.offset;
  if (slot.tensor && slot.tensor.get()->use_count() == 1 &&
      std::equal(shape.begin(), shape.end(), slot.tensor.shape().begin(), slot.tensor.shape().end())) {
    slot.tensor->data = data;
    return slot.tensor;
  }
  slot.tensor = tensor_at(nullptr, data, shape, dtype_of(in.b), pool.device());
  return slot.tensor;
}

/// What a shape program gives; where only the arguments' extents decide it, an earlier call with the same ones may know.
ObjectRef Machine::shape_from(const Instruction& in) {
  FrameMemory* memory = frames_.back().memory.get();
  const int32_t index = memory ? memory->layout->index_at[frames_.back().pc - 1] : -1;
  if (index >= 0 && memory->plan->shapes[static_cast<size_t>(index)])
    return memory->plan->shapes[static_cast<size_t>(index)];
  tensors_.clear();
  for (int64_t arg : operands(in)) tensors_.push_back(&tensor(arg)->tensor);
  ObjectRef out = ShapeTuple(program_->shapes[static_cast<size_t>(in.a)].run(tensors_, steps_));
  if (index >= 0) memory->plan->shapes[static_cast<size_t>(index)] = out;
  return out;
}

/// The kernel that will write a tensor which is made now.
std::string Machine::producer_of(int32_t reg) const {
  const Function& function = *frames_.back().function;
  for (size_t pc = frames_.back().pc; pc < function.code.size(); ++pc) {
    const Instruction& in = function.code[pc];
    if (in.op != Opcode::InvokePacked) continue;
    std::span<const int64_t> args = operands(in);
    auto written = args.last(std::min(args.size(), static_cast<size_t>(in.b)));
    if (std::find(written.begin(), written.end(), reg) != written.end())
      return program_->primitives[static_cast<size_t>(in.a)];
  }
  return function.name;
}

/// A tensor whose shape was computed from others, or from values, by a program that may not have checked it.
NDArray Machine::allocate_dynamic(const Instruction& in, std::span<const int64_t> shape) {
  bool is_negative = std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; });
  if (is_negative || tensor_elements(shape) > static_cast<double>(kMaxDynamicElements))
    throw Error(ValueError) << producer_of(in.dst) << ": the result would have the shape " << shape_text(shape)
                            << (is_negative
                                    ? "; an extent is at least 0"
                                    : "; a tensor whose shape is known only at run time has less than 2^31 elements");
  try {
    return allocate(in, shape);
  } catch (Error& error) {
    error << "\n  for a result of " << producer_of(in.dst) << " of shape " << shape_text(shape);
    throw;
  }
}

/// Rows are counted in 32 bits by the kernels that read them.
NDArray Machine::append(const Instruction& in) {
  const NDArrayNode *rows = tensor(in.a), *row = tensor(in.b);
  const double elements =
      tensor_elements(row->shape) * static_cast<double>(rows->shape.empty() ? 1 : rows->shape[0] + 1);
  if (elements > static_cast<double>(kMaxDynamicElements))
    throw Error(ValueError) << "in " << frames_.back().function->name
                            << ": what a loop collects has 2^31 elements or more";
  return append_row(*pools_[static_cast<size_t>(in.c)], rows, row, operands(in)[0]);
}

NDArray Machine::in_storage(const Instruction& in) const {
  auto* storage = reg(in.a).object.as<StorageNode>();
  if (!storage) misuse(in.a, "a storage");
  std::span<const int64_t> all = operands(in);
  std::span<const int64_t> shape = all.subspan(1);
  size_t bytes = tensor_bytes(shape, dtype_of(in.b));
  if (all[0] < 0 || static_cast<uint64_t>(all[0]) > storage->bytes ||
      bytes > storage->bytes - static_cast<uint64_t>(all[0]) || all[0] % kAllocAlignment != 0)
    throw Error(ValueError) << "the virtual machine: a tensor of " << bytes << " bytes at " << all[0]
                            << " does not lie inside its storage of " << storage->bytes << " bytes";
  return tensor_at(storage->memory, static_cast<char*>(storage->memory.get()) + all[0], shape, dtype_of(in.b),
                   storage->device);
}

/// The name under which profiles list an instruction; null where they do not.
static const char* profiled_name(Opcode op) {
  switch (op) {
    case Opcode::AllocTensorReg: return "AllocTensorReg";
    case Opcode::AllocStorage: return "AllocStorage";
    case Opcode::DeviceCopy: return "DeviceCopy";
    default: return nullptr;
  }
}

bool Machine::step(ObjectRef* result) {
  Frame& frame = frames_.back();
  const Function& function = *frame.function;
  const Instruction* code = function.code.data();
  for (;;) {
    const Instruction& in = code[frame.pc++];
    const char* profiled = observer_ ? profiled_name(in.op) : nullptr;
    if (profiled) observer_->before_instruction(profiled, device());
    switch (in.op) {
      case Opcode::Move: reg(in.dst) = reg(in.a); break;
      case Opcode::Ret: {
        Value value = std::move(reg(in.a));
        int32_t dst = frame.dst;
        registers_.resize(base_);
        frames_.pop_back();
        if (frames_.empty()) {
          *result = std::move(value.object);
          return false;
        }
        base_ = frames_.back().base;
        reg(dst) = std::move(value);
        return true;
      }
      case Opcode::Invoke:
      case Opcode::InvokeClosure: {
        const Instruction& next = code[frame.pc];
        bool is_tail = next.op == Opcode::Ret && next.a == in.dst;
        if (in.op == Opcode::Invoke) {
          call(in, static_cast<uint32_t>(in.a), {}, is_tail);
          return true;
        }
        Ref<ClosureNode> closure(reg(in.a).object.as<ClosureNode>());
        if (!closure) misuse(in.a, "a function");
        if (closure->program != program_)
          throw Error(ValueError) << "the virtual machine: a closure of another program is called";
        call(in, closure->function, closure->bound, is_tail);
        return true;
      }
      case Opcode::InvokePacked: invoke_packed(in); break;
      case Opcode::AllocTensor: reg(in.dst).object = in.a < 0 ? allocate(in, operands(in)) : in_storage(in); break;
      case Opcode::AllocTensorReg:
        if (auto* shape = reg(in.a).object.as<ShapeTupleNode>())
          reg(in.dst).object = allocate_dynamic(in, shape->values);
        else reg(in.dst).object = allocate_dynamic(in, shape_in(in.a));
        break;
      case Opcode::AllocADT:
      case Opcode::AllocClosure: {
        std::vector<ObjectRef> fields;
        fields.reserve(in.count);
        for (int64_t field : operands(in)) fields.push_back(reg(field).object);
        if (in.op == Opcode::AllocADT) {
          reg(in.dst).object = make_data(in.a, std::move(fields));
        } else {
          ClosureNode closure;
          closure.program = program_;
          closure.function = static_cast<uint32_t>(in.a);
          closure.bound = std::move(fields);
          reg(in.dst).object = make(std::move(closure));
        }
        break;
      }
      case Opcode::GetField: {
        const ADTNode* from = data(in.a);
        if (in.b < 0 || static_cast<size_t>(in.b) >= from->values.size())
          throw Error(IndexError) << "the virtual machine: field " << in.b << " of a value that has "
                                  << from->values.size();
        ObjectRef field = from->values[static_cast<size_t>(in.b)];
        reg(in.dst).object = std::move(field);
        break;
      }
      case Opcode::SetField: {
        const ADTNode* to = data(in.a);
        if (in.b < 0 || static_cast<size_t>(in.b) >= to->values.size())
          throw Error(IndexError) << "the virtual machine: field " << in.b << " of a value that has "
                                  << to->values.size();
        const_cast<ADTNode*>(to)->values[static_cast<size_t>(in.b)] = reg(in.c).object;
        break;
      }
      case Opcode::If:
        if (number(reg(in.a)) != number(reg(in.b))) frame.pc += static_cast<uint32_t>(in.c) - 1;
        break;
      case Opcode::Goto: frame.pc += static_cast<uint32_t>(in.a) - 1; break;
      case Opcode::LoadConst:
        reg(in.dst).object = constants_[static_cast<size_t>(in.b)][static_cast<size_t>(in.a)];
        break;
      case Opcode::LoadConsti: reg(in.dst) = {nullptr, in.a}; break;
      case Opcode::GetTag: reg(in.dst) = {nullptr, data(in.a)->tag}; break;
      case Opcode::Fatal:
        throw Error(RuntimeError) << "in " << function.name << ": no clause of a match fits the value";
      case Opcode::AllocStorage: {
        std::span<const int64_t> size = operands(in);
        StorageNode storage;
        storage.bytes = static_cast<size_t>(size[0]);
        storage.device = device(static_cast<size_t>(in.c));
        storage.memory = pools_[static_cast<size_t>(in.c)]->allocate(storage.bytes);
        reg(in.dst).object = make(std::move(storage));
        break;
      }
      case Opcode::ShapeOf: {
        const NDArrayNode* from = tensor(in.a);
        auto rank = static_cast<int64_t>(from->shape.size());
        NDArray out = NDArray::empty(std::span(&rank, 1), DataType::Int(64));
        std::copy(from->shape.begin(), from->shape.end(), out.data<int64_t>());
        reg(in.dst).object = out;
        break;
      }
      case Opcode::ReshapeTensor: {
        NDArray from(tensor(in.a));
        std::vector<int64_t> shape;
        if (in.b >= 0) shape = shape_in(in.b);
        else shape.assign(operands(in).begin(), operands(in).end());
        if (tensor_bytes(shape, from.dtype()) != from.bytes())
          throw Error(ValueError) << "cannot reshape " << describe(from.tensor()) << " to " << shape_text(shape);
        reg(in.dst).object = from.view(shape, from.dtype());
        break;
      }
      case Opcode::DeviceCopy: {
        DLDevice to = device(static_cast<size_t>(in.b));
        NDArray from(tensor(in.a));
        reg(in.dst).object = same_device(from.device(), to) ? from : from.copy_to(to);
        break;
      }
      case Opcode::KillRegister: reg(in.a) = {}; break;
      case Opcode::Append: reg(in.dst).object = append(in); break;
      case Opcode::ShapeFunc: reg(in.dst).object = shape_from(in); break;
    }
    if (profiled) observer_->after_instruction();
  }
}

}  // namespace tessera::vm
