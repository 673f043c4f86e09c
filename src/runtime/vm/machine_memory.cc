// What the machine allocates: tensors of its frames and results.

#include <algorithm>

#include "runtime/device.h"
#include "runtime/function/shape_functions.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {

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

}  // namespace tessera::vm
