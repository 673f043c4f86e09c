#include <random>
#include <thread>

#include "expect_error.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {
namespace {

constexpr int32_t kFloat = 2 | 32 << 8 | 1 << 16;

void add(Function& f, Opcode op, int32_t dst, int32_t a = 0, int32_t b = 0, int32_t c = 0,
         std::vector<int64_t> operands = {}) {
  f.code.push_back(
      {op, dst, a, b, c, static_cast<uint32_t>(f.operands.size()), static_cast<uint32_t>(operands.size())});
  f.operands.insert(f.operands.end(), operands.begin(), operands.end());
}

/// main(x, ...) of a vector of any length, with a shape program that gives that length.
Program program_of_vectors(uint32_t params, uint32_t registers) {
  Program program;
  program.device_types = {kDLCPU};
  program.primitives = {"add_one"};
  program.shapes.resize(1);
  program.shapes[0].name = "add_one";
  program.shapes[0].ranks = {1};
  program.shapes[0].steps = {{ShapeOp::Extent, 0, 0}};
  program.shapes[0].result = {0};
  Function& f = program.functions.emplace_back();
  f.name = "main";
  f.registers = registers;
  for (uint32_t i = 0; i < params; ++i) {
    Parameter& param = f.params.emplace_back();
    param.name = std::string("x") + std::to_string(i);
    param.is_tensor = true;
    param.dtype = DataType::Float(32);
    param.shape = {-1};
  }
  return program;
}

/// x + count, one at a time.
Program add_chain(int count) {
  Program program = program_of_vectors(1, 4);
  Function& f = program.functions[0];
  int32_t from = 0;
  for (int i = 0; i < count; ++i) {
    const int32_t to = 2 + i % 2;
    add(f, Opcode::ShapeFunc, 1, 0, 0, 0, {from});
    add(f, Opcode::AllocTensorReg, to, 1, kFloat);
    add(f, Opcode::InvokePacked, -1, 0, 1, 1, {from, to});
    if (i > 0) add(f, Opcode::KillRegister, -1, from);
    from = to;
  }
  add(f, Opcode::Ret, -1, from);
  return program;
}

class AddOneToAll final : public ModuleBody {
 public:
  explicit AddOneToAll(std::vector<void*>* written = nullptr) : written_(written) {}
  std::string type_key() const override { return "add_one"; }
  PackedFunc get_function(const std::string&, const Module&) override {
    return typed("add_one", [written = written_](DLTensor* x, DLTensor* y) {
      if (written) written->push_back(y->data);
      for (int64_t i = 0; i < y->shape[0]; ++i) static_cast<float*>(y->data)[i] = static_cast<float*>(x->data)[i] + 1;
    });
  }

 private:
  std::vector<void*>* written_;
};

NDArray zeros(int64_t size) {
  NDArray out = NDArray::empty(std::span(&size, 1), DataType::Float(32));
  std::fill_n(out.data<float>(), size, 0.f);
  return out;
}
NDArray tensor_in(const ObjectRef& object) { return NDArray(object.as<NDArrayNode>()); }

TEST(FrameLayout, HasWhatDiesInsideAndWhen) {
  Program program = add_chain(3);
  FrameLayout layout = frame_layout(program, program.functions[0]);
  ASSERT_EQ(layout.slots.size(), 2u);  // the third is returned
  EXPECT_EQ(layout.slots[0].made_at, 1u);
  EXPECT_EQ(layout.slots[0].last_use, 5u);
  EXPECT_EQ(layout.slots[1].made_at, 4u);
  EXPECT_EQ(layout.slots[1].last_use, 9u);
  EXPECT_EQ(layout.shapes, 3u);
  EXPECT_EQ(layout.params, std::vector<uint32_t>{0});
}

TEST(FrameLayout, LeavesOutWhatOthersSee) {
  Program program = program_of_vectors(1, 6);
  Function& f = program.functions[0];
  for (int32_t i = 1; i < 5; ++i) add(f, Opcode::AllocTensor, i, -1, kFloat, 0, {8});
  add(f, Opcode::ReshapeTensor, 5, 1, -1, 0, {2, 4});  // shares the memory of register 1
  add(f, Opcode::AllocADT, 5, 0, 0, 0, {5});
  add(f, Opcode::Invoke, 3, 0, 0, 0, {3});
  add(f, Opcode::SetField, -1, 5, 0, 4);
  add(f, Opcode::Ret, -1, 5);
  FrameLayout layout = frame_layout(program, f);
  ASSERT_EQ(layout.slots.size(), 1u);
  EXPECT_EQ(layout.slots[0].made_at, 1u);
}

TEST(FrameLayout, AValueOfTwoBranchesBelongsToNeither) {
  Program program = program_of_vectors(1, 4);
  Function& f = program.functions[0];
  add(f, Opcode::LoadConsti, 1, 0);
  add(f, Opcode::If, -1, 1, 1, 3);
  add(f, Opcode::AllocTensor, 2, -1, kFloat, 0, {8});
  add(f, Opcode::Goto, -1, 2);
  add(f, Opcode::AllocTensor, 2, -1, kFloat, 0, {16});
  add(f, Opcode::AllocTensor, 3, -1, kFloat, 0, {8});
  add(f, Opcode::InvokePacked, -1, 0, 1, 1, {2, 3});
  add(f, Opcode::Ret, -1, 0);
  program.check();
  FrameLayout layout = frame_layout(program, f);
  ASSERT_EQ(layout.slots.size(), 1u);
  EXPECT_EQ(layout.slots[0].made_at, 5u);
}

TEST(FrameLayout, SizesThatValuesDecideAreLeftOut) {
  Program program = program_of_vectors(2, 5);
  program.functions[0].params[1].dtype = DataType::Int(64);
  Function& f = program.functions[0];
  add(f, Opcode::AllocTensorReg, 2, 1, kFloat);  // the values of an argument as a shape
  add(f, Opcode::ShapeFunc, 3, 0, 0, 0, {2});    // and what follows from it
  add(f, Opcode::AllocTensorReg, 4, 3, kFloat);
  add(f, Opcode::InvokePacked, -1, 0, 1, 1, {2, 4});
  add(f, Opcode::Ret, -1, 0);
  EXPECT_TRUE(frame_layout(program, f).is_empty());
}

TEST(FramePlan, TensorsThatLiveTogetherDoNotOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FrameLayout layout;
    std::vector<FramePlan::Slot> slots(1 + random() % 60);
    for (uint32_t i = 0; i < slots.size(); ++i) {
      layout.slots.push_back({i, i + static_cast<uint32_t>(random() % 8)});
      slots[i].bytes = random() % 5000;
      if (random() % 10 == 0) slots[i].bytes = FramePlan::kUnknown;
    }
    const size_t total = plan_offsets(layout, slots);
    size_t most = 0;
    for (uint32_t t = 0; t < slots.size() + 8; ++t) {
      size_t live = 0;
      for (size_t i = 0; i < slots.size(); ++i) {
        if (slots[i].bytes == FramePlan::kUnknown || layout.slots[i].made_at > t || layout.slots[i].last_use < t)
          continue;
        live += slots[i].bytes + kAllocAlignment;
        EXPECT_EQ(slots[i].offset % kAllocAlignment, 0u);
        EXPECT_LE(slots[i].offset + slots[i].bytes, total);
        for (size_t j = 0; j < i; ++j) {
          if (slots[j].bytes == FramePlan::kUnknown || layout.slots[j].made_at > t || layout.slots[j].last_use < t)
            continue;
          EXPECT_TRUE(slots[i].offset >= slots[j].offset + slots[j].bytes ||
                      slots[j].offset >= slots[i].offset + slots[i].bytes);
        }
      }
      most = std::max(most, live);
    }
    EXPECT_LE(total, 2 * most);
  }
}

TEST(FramePlan, SizesBeyondAllMemoryAreNotPlaced) {
  FrameLayout layout;
  layout.slots = {{0, 5}, {1, 5}, {2, 5}};
  std::vector<FramePlan::Slot> slots(3);
  for (size_t bytes : {~size_t{0} - 1, ~size_t{0} / 4, ~size_t{0} / 5}) {
    for (FramePlan::Slot& slot : slots) slot.bytes = bytes;
    EXPECT_EQ(plan_offsets(layout, slots), FramePlan::kUnknown);
  }
}

TEST(FramePlan, TheSecondRunOfAShapeUsesOnePiece) {
  std::vector<void*> written;
  Machine machine(make_executable(add_chain(6), make_module<AddOneToAll>(&written)), {cpu()}, true);
  for (int run = 0; run < 4; ++run)
    for (int64_t size : {1000, 3000}) {
      written.clear();
      NDArray out = tensor_in(machine.invoke(0, {zeros(size)}));
      EXPECT_EQ(out.data<float>()[size - 1], 6);
      ASSERT_EQ(written.size(), 6u);
      if (run == 0) continue;
      const auto room = static_cast<ptrdiff_t>((static_cast<size_t>(size) * 4 + 63) / 64 * 64);
      EXPECT_EQ(static_cast<char*>(written[1]) - static_cast<char*>(written[0]), room);
      EXPECT_EQ(written[2], written[0]);
      EXPECT_EQ(written[3], written[1]);
    }
  EXPECT_LE(machine.memory(), size_t{4 * 3000 * 5});
}

TEST(FramePlan, ResultsOutliveLaterRunsAndTheMachine) {
  NDArray first, second;
  {
    Machine machine(make_executable(add_chain(5), make_module<AddOneToAll>()), {cpu()}, true);
    for (int run = 0; run < 3; ++run) {
      first = second;
      second = tensor_in(machine.invoke(0, {zeros(100)}));
    }
  }
  EXPECT_EQ(first.data<float>()[99], 5);
  EXPECT_EQ(second.data<float>()[99], 5);
  EXPECT_NE(first->data, second->data);
}

TEST(FramePlan, OnlySoManyShapesAreRemembered) {
  Program program = add_chain(3);
  FramePlans plans(frame_layout(program, program.functions[0]));
  for (int64_t size = 1; size < 200; ++size) {
    NDArray x = zeros(size);
    EXPECT_TRUE(plans.find([&](uint32_t) { return x.get(); }));
    EXPECT_LE(plans.size(), FramePlans::kMaxShapes);
  }
  NDArray last = zeros(199);
  auto plan = plans.find([&](uint32_t) { return last.get(); });
  NDArray first = zeros(1);
  EXPECT_NE(plans.find([&](uint32_t) { return first.get(); }), plan);
  EXPECT_EQ(plans.find([&](uint32_t) { return last.get(); }), plan);
}

TEST(FramePlan, MachinesOfManyThreadsHaveTheirOwn) {
  Module executable = make_executable(add_chain(8), make_module<AddOneToAll>());
  std::vector<std::thread> threads;
  std::vector<int> wrong(6);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Machine machine(executable, {cpu()}, true);
      for (int64_t i = 0; i < 300; ++i) {
        const int64_t size = 1 + (i * 7 + static_cast<int64_t>(t)) % 50;
        NDArray out = tensor_in(machine.invoke(0, {zeros(size)}));
        wrong[t] += out.shape()[0] != size || out.data<float>()[size - 1] != 8;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(6));
}

TEST(FramePlan, AFunctionThatCallsItselfHasMemoryForEachCall) {
  // main(x) = x has 64 elements ? x : (y = x + 1, main(y's first elements ...)); the outer y is read again afterwards.
  Program program = program_of_vectors(2, 7);
  Function& f = program.functions[0];
  f.params[1].dtype = DataType::Int(32);
  f.params[1].shape = {};
  program.constants = {NDArray::empty({}, DataType::Int(32))};
  *program.constants[0].data<int32_t>() = 1;
  program.constant_names = {"one"};
  // depth 1 returns at once; else makes y, calls itself with depth 1 and adds one to what y then holds.
  add(f, Opcode::LoadConst, 2, 0, 0);
  add(f, Opcode::ShapeFunc, 3, 0, 0, 0, {0});
  add(f, Opcode::AllocTensorReg, 4, 3, kFloat);
  add(f, Opcode::InvokePacked, -1, 0, 1, 1, {0, 4});
  add(f, Opcode::AllocTensorReg, 6, 3, kFloat);
  add(f, Opcode::If, -1, 1, 2, 2);
  add(f, Opcode::Goto, -1, 2);
  add(f, Opcode::Invoke, 5, 0, 0, 0, {0, 2});
  add(f, Opcode::InvokePacked, -1, 0, 1, 1, {4, 6});
  add(f, Opcode::Ret, -1, 6);
  program.check();
  Machine machine(make_executable(program, make_module<AddOneToAll>()), {cpu()}, true);
  NDArray depth = NDArray::empty({}, DataType::Int(32));
  *depth.data<int32_t>() = 2;
  for (int run = 0; run < 4; ++run) {
    NDArray out = tensor_in(machine.invoke(0, {zeros(40), depth}));
    EXPECT_EQ(out.data<float>()[39], 2);
  }
}

}  // namespace
}  // namespace tessera::vm
