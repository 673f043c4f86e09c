#include <thread>

#include "expect_error.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {
namespace {

NDArray integer(int32_t value) {
  NDArray out = NDArray::empty({}, DataType::Int(32));
  *out.data<int32_t>() = value;
  return out;
}
int32_t value_of(const ObjectRef& tensor) { return *NDArray(tensor.as<NDArrayNode>()).data<int32_t>(); }

Instruction make_instruction(Function& function, Opcode op, int32_t dst, int32_t a = 0, int32_t b = 0, int32_t c = 0,
                             std::vector<int64_t> operands = {}) {
  Instruction in{
      op, dst, a, b, c, static_cast<uint32_t>(function.operands.size()), static_cast<uint32_t>(operands.size())};
  function.operands.insert(function.operands.end(), operands.begin(), operands.end());
  return in;
}

/// count(n, step, done) = n == done ? n : count(kernel(n), step, done), the kernel adding one.
Program counting_program() {
  Program program;
  program.device_types = {kDLCPU};
  program.primitives = {"add_one"};
  Function& f = program.functions.emplace_back();
  f.name = "count";
  f.params.resize(2);
  f.params[0].name = "n";
  f.params[1].name = "end";
  f.registers = 4;
  auto add = [&](auto... parts) { f.code.push_back(make_instruction(f, parts...)); };
  add(Opcode::If, -1, 0, 1, 2);
  add(Opcode::Ret, -1, 0);
  add(Opcode::AllocTensor, 2, -1, dtype_code(DataType::Int(32)), 0);
  add(Opcode::InvokePacked, -1, 0, 1, 0, std::vector<int64_t>{0, 2});
  add(Opcode::Invoke, 3, 0, 0, 0, std::vector<int64_t>{2, 1});
  add(Opcode::Ret, -1, 3);
  return program;
}

class AddOne final : public ModuleBody {
 public:
  std::string type_key() const override { return "add_one"; }
  PackedFunc get_function(const std::string& name, const Module&) override {
    if (name != "add_one") return nullptr;
    return typed(
        name, [](DLTensor* x, DLTensor* y) { *static_cast<int32_t*>(y->data) = *static_cast<int32_t*>(x->data) + 1; });
  }
};

TEST(VirtualMachine, RunsALoopInOneFrame) {
  Module executable = make_executable(counting_program(), make_module<AddOne>());
  Machine machine(executable, {cpu()}, true);
  EXPECT_EQ(value_of(machine.invoke(0, {integer(3), integer(100000)})), 100000);
}

TEST(VirtualMachine, ManyThreadsShareAProgram) {
  Module executable = make_executable(counting_program(), make_module<AddOne>());
  std::vector<std::thread> threads;
  std::vector<int32_t> results(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Machine machine(executable, {cpu()}, true);
      for (int i = 0; i < 20; ++i)
        results[static_cast<size_t>(t)] = value_of(machine.invoke(0, {integer(t), integer(200)}));
    });
  for (std::thread& thread : threads) thread.join();
  for (int32_t result : results) EXPECT_EQ(result, 200);
}

TEST(VirtualMachine, ProgramsComeBackAsTheyWere) {
  Program program = counting_program();
  program.check();
  Program back = load_program(save_program(program));
  EXPECT_EQ(program_text(back), program_text(program));
}

TEST(VirtualMachine, RejectsWhatPointsOutside) {
  auto rejected = [](auto change) {
    Program program = counting_program();
    change(program.functions[0]);
    return error_of([&] { program.check(); });
  };
  EXPECT_THAT(rejected([](Function& f) { f.code[1].a = 9; }), testing::HasSubstr("a register it does not have"));
  EXPECT_THAT(rejected([](Function& f) { f.code[0].c = 0; }), testing::HasSubstr("jumps outside, or backwards"));
  EXPECT_THAT(rejected([](Function& f) { f.code[0].c = 6; }), testing::HasSubstr("jumps outside, or backwards"));
  EXPECT_THAT(rejected([](Function& f) { f.code[3].a = 1; }), testing::HasSubstr("a kernel that is not there"));
  EXPECT_THAT(rejected([](Function& f) { f.code[4].count = 1; }), testing::HasSubstr("another number of arguments"));
  EXPECT_THAT(rejected([](Function& f) { f.code[4].first = 90; }), testing::HasSubstr("operands that are not there"));
  EXPECT_THAT(rejected([](Function& f) { f.code.pop_back(); }), testing::HasSubstr("runs off its end"));
  EXPECT_THAT(rejected([](Function& f) { f.code[2].c = 1; }), testing::HasSubstr("a device that is not there"));
}

TEST(VirtualMachine, TensorsLieInsideTheirStorage) {
  Program program;
  program.device_types = {kDLCPU};
  Function& f = program.functions.emplace_back();
  f.name = "main";
  f.registers = 2;
  auto add = [&](auto... parts) { f.code.push_back(make_instruction(f, parts...)); };
  add(Opcode::AllocStorage, 0, 0, 0, 0, std::vector<int64_t>{256, 64});
  add(Opcode::AllocTensor, 1, 0, dtype_code(DataType::Int(32)), 0, std::vector<int64_t>{64, 48});
  add(Opcode::Ret, -1, 1);
  auto run = [](const Program& made) {
    Machine machine(make_executable(made, nullptr), {cpu()}, true);
    return NDArray(machine.invoke(0, {}).as<NDArrayNode>());
  };
  EXPECT_EQ(run(program).shape()[0], 48);
  f.operands[f.code[1].first] = 128;
  EXPECT_THAT(error_of([&] { run(program); }), testing::HasSubstr("does not lie inside its storage of 256 bytes"));
}

TEST(MemoryPool, GivesFreedMemoryAgainAndOutlivesItsMachine) {
  auto pool = std::make_shared<MemoryPool>(cpu(), true);
  std::vector<int64_t> shape{1000};
  NDArray first = make_tensor(*pool, shape, DataType::Float(32));
  void* memory = first->data;
  first = nullptr;
  NDArray second = make_tensor(*pool, shape, DataType::Float(32));
  EXPECT_EQ(second->data, memory);
  pool = nullptr;
  second.data<float>()[999] = 1;  // still its own
}

TEST(MemoryPool, KeepsWhatWasFreedLast) {
  auto pool = std::make_shared<MemoryPool>(cpu(), true);
  std::vector<NDArray> small;
  for (int64_t count : {1000, 3000, 9000})
    small.push_back(make_tensor(*pool, std::vector<int64_t>{count}, DataType::Float(32)));
  small.clear();
  const std::vector<int64_t> shape{100000};
  void* memory = nullptr;
  for (int i = 0; i < 3; ++i) {
    NDArray large = make_tensor(*pool, shape, DataType::Float(32));
    if (i > 0) EXPECT_EQ(large->data, memory);
    memory = large->data;
  }
  EXPECT_EQ(pool->bytes(),
            400000 / kAllocAlignment * kAllocAlignment + (400000 % kAllocAlignment ? kAllocAlignment : 0));
}

ShapeProgram program_of_steps(std::vector<ShapeStep> steps, std::vector<uint32_t> result) {
  ShapeProgram out;
  out.name = "kernel";
  out.ranks = {2};
  out.steps = std::move(steps);
  out.result = std::move(result);
  return out;
}

TEST(ShapeProgram, DividesAsTheIntegersDo) {
  NDArray tensor = NDArray::empty(std::vector<int64_t>{7, 2}, DataType::Float(32));
  std::vector<const DLTensor*> args{tensor.tensor()};
  std::vector<int64_t> scratch;
  ShapeProgram program = program_of_steps({{ShapeOp::Extent, 0, 0},
                                           {ShapeOp::Constant, 0, 0, 0, -2},
                                           {ShapeOp::FloorDiv, 0, 1},
                                           {ShapeOp::FloorMod, 0, 1},
                                           {ShapeOp::TruncDiv, 0, 1},
                                           {ShapeOp::TruncMod, 0, 1}},
                                          {2, 3, 4, 5});
  EXPECT_EQ(program.problem(), "");
  EXPECT_EQ(program.run(args, scratch), (std::vector<int64_t>{-4, -1, -3, 1}));
  program.steps[1].imm = 0;
  EXPECT_THAT(error_of([&] { program.run(args, scratch); }), testing::HasSubstr("division by an extent of zero"));
}

TEST(ShapeProgram, SaysWhatDoesNotHold) {
  NDArray tensor = NDArray::empty(std::vector<int64_t>{7, 2}, DataType::Float(32));
  std::vector<const DLTensor*> args{tensor.tensor()};
  std::vector<int64_t> scratch;
  ShapeProgram program = program_of_steps({{ShapeOp::Extent, 0, 0}, {ShapeOp::Extent, 0, 1}, {ShapeOp::EQ, 0, 1}}, {0});
  program.checks.push_back({2, "rows == columns"});
  EXPECT_THAT(error_of([&] { program.run(args, scratch); }),
              testing::HasSubstr("kernel: the shapes of the arguments do not fit together: rows == columns does not "
                                 "hold for (7, 2) float32"));
}

TEST(ShapeProgram, LooksBackOnly) {
  EXPECT_EQ(program_of_steps({{ShapeOp::Not, 0}}, {0}).problem(), "reads a value that is not computed yet");
  EXPECT_EQ(program_of_steps({{ShapeOp::Extent, 0, 2}}, {0}).problem(), "reads an extent that is not there");
  EXPECT_EQ(program_of_steps({{ShapeOp::Constant}}, {1}).problem(), "gives a value that is not computed");
}

}  // namespace
}  // namespace tessera::vm
