// What each instruction does to registers and frames.

#include <algorithm>

#include "runtime/device.h"
#include "runtime/function/element.h"
#include "runtime/function/shape_functions.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {
namespace {

/// An integer of a host tensor.
int64_t integer_at(const NDArray& host, int64_t index) {
  DataType dtype = host.dtype();
  if (!dtype.is_integral() || dtype.lanes != 1)
    throw Error(TypeError) << "the virtual machine expected an integer, but the tensor is " << describe(host.tensor());
  return read_int(dtype, host.data<char>() + index * dtype.bytes());
}

NDArray on_host(const NDArray& tensor) {
  return tensor.device().device_type == kDLCPU ? tensor : tensor.copy_to(cpu());
}

/// The name under which profiles list an instruction; null where they do not.
const char* profiled_name(Opcode op) {
  switch (op) {
    case Opcode::AllocTensorReg: return "AllocTensorReg";
    case Opcode::AllocStorage: return "AllocStorage";
    case Opcode::DeviceCopy: return "DeviceCopy";
    default: return nullptr;
  }
}

}  // namespace

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
