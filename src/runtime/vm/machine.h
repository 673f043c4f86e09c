#pragma once
// Runs programs of the virtual machine: one caller's registers, frames and memory around a shared program.

#include <unordered_map>

#include "runtime/containers.h"
#include "runtime/vm/executable.h"
#include "runtime/vm/frame_plan.h"
#include "runtime/vm/memory.h"

namespace tessera::vm {

/// A function of a program with its first parameters bound.
struct ClosureNode : Object {
  std::shared_ptr<const Program> program;
  uint32_t function = 0;
  std::vector<ObjectRef> bound;
  static constexpr NodeInfo info{"vm.Closure", &Object::info, Role::Identity};
  static void fields(auto) {}
};

/// Is told of each kernel call and of each instruction that asks for memory while it runs or copies: before, and after it returned.
class Observer {
 public:
  virtual ~Observer() = default;
  /// `nodes`: those of the model that it computes, as lines.
  virtual void before_kernel(const std::string& name, std::span<const DLTensor* const> args, DLDevice device,
                             const std::string& nodes) = 0;
  virtual void after_kernel() = 0;
  virtual void before_instruction(const char* name, DLDevice device) { (void)name, (void)device; }
  virtual void after_instruction() {}
};

/// A tuple, or a value of a data type.
ADT make_data(int32_t tag, std::vector<ObjectRef> fields);

/// Calls may nest as deep as memory for registers allows (`kMaxRegisters`); the thread's own stack is not used for
/// them. A machine serves one call at a time; many machines may run one program.
class Machine {
 public:
  static constexpr size_t kMaxRegisters = size_t(1) << 25;
  /// Frames deeper than this have no memory of their own, which they would hold while they wait.
  static constexpr size_t kMaxPlannedDepth = 64;

  /// Kernels come from the executable's library. `devices` must have one of each kind the program runs on.
  Machine(const Module& executable, std::vector<DLDevice> devices, bool pools_memory);

  const Program& program() const { return *program_; }
  DLDevice device(size_t index = 0) const { return pools_[index]->device(); }

  /// The arguments of a function for calls by name from now on. Tensors on other devices are copied.
  void set_inputs(const std::string& function, std::vector<ObjectRef> args);
  void set_input(const std::string& function, size_t index, ObjectRef value);
  /// Tensors that results of `function` are put into; where possible they are computed there in the first place.
  void set_outputs(const std::string& function, std::vector<NDArray> outputs);

  /// Calls the function with the inputs set before.
  ObjectRef invoke(const std::string& function);
  ObjectRef invoke(uint32_t function, std::vector<ObjectRef> args);

  /// Bytes that its pools hold, in use or kept.
  size_t memory() const;
  void observe(Observer* observer) { observer_ = observer; }

 private:
  /// What a register holds: an object, or a number where there is none.
  struct Value {
    ObjectRef object;
    int64_t number = 0;
  };
  /// One piece of memory for what lives and dies in a frame, and where in it.
  struct FrameMemory {
    const FrameLayout* layout;
    std::shared_ptr<FramePlan> plan;
    std::shared_ptr<void> data;  // null until something is put into it
  };
  struct Frame {
    const Function* function;
    uint32_t pc, base;
    int32_t dst;  // the caller's register for the result
    std::unique_ptr<FrameMemory> memory;
  };
  /// Tensors of the caller for results: by result, and by the instruction that makes it.
  struct Outputs {
    std::vector<NDArray> tensors;
    std::unordered_map<uint32_t, size_t> made_at;
  };

  ObjectRef convert(const Function& function, size_t index, ObjectRef value) const;
  static void check_dims(const Function& function, std::span<const ObjectRef> args);
  ObjectRef run(uint32_t function, std::span<const ObjectRef> args);
  bool step(ObjectRef* result);
  void push_frame(const Function& function, int32_t dst);
  void plan_frame();
  void call(const Instruction& in, uint32_t function, std::span<const ObjectRef> bound, bool is_tail);
  void invoke_packed(const Instruction& in);
  const std::string& nodes_of(const Instruction& in) const;
  NDArray allocate(const Instruction& in, std::span<const int64_t> shape);
  NDArray allocate_dynamic(const Instruction& in, std::span<const int64_t> shape);
  std::string producer_of(int32_t reg) const;
  NDArray append(const Instruction& in);
  NDArray in_frame(const Instruction& in, std::span<const int64_t> shape);
  NDArray in_storage(const Instruction& in) const;
  ObjectRef shape_from(const Instruction& in);
  NDArray preset(const Instruction& in, std::span<const int64_t> shape);
  ObjectRef put_out(const Outputs& outputs, const ObjectRef& result) const;

  Value& reg(int64_t index) { return registers_[base_ + static_cast<size_t>(index)]; }
  const Value& reg(int64_t index) const { return registers_[base_ + static_cast<size_t>(index)]; }
  std::span<const int64_t> operands(const Instruction& in) const {
    return {frames_.back().function->operands.data() + in.first, in.count};
  }
  const NDArrayNode* tensor(int64_t index) const;
  const ADTNode* data(int64_t index) const;
  int64_t number(const Value& value) const;
  std::vector<int64_t> shape_in(int64_t index) const;
  [[noreturn]] void misuse(int64_t index, const char* expected) const;

  std::shared_ptr<const Program> program_;
  Module executable_;
  std::vector<PackedFunc> kernels_;
  std::vector<std::vector<NDArray>> constants_;     // by device, those that are used there
  std::vector<std::shared_ptr<MemoryPool>> pools_;  // by device of the program
  std::vector<std::unique_ptr<FramePlans>> plans_;  // by function; empty where memory is not kept
  std::unordered_map<std::string, std::vector<ObjectRef>> inputs_;
  std::unordered_map<uint32_t, Outputs> outputs_;

  std::vector<Value> registers_;
  std::vector<Frame> frames_;
  size_t base_ = 0;  // of the running frame
  bool is_running_ = false;
  const Outputs* presets_ = nullptr;
  Observer* observer_ = nullptr;
  // Kept between instructions so that they need not be allocated again.
  std::vector<const DLTensor*> tensors_;
  std::vector<int64_t> steps_;
  std::vector<TesseraValue> slots_;
  std::vector<int> codes_;
};

}  // namespace tessera::vm
