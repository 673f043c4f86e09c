// Programs of the virtual machine: any bytes are read as a program or rejected. What was read can be shown, written and
// read again; where it surely ends and needs little memory it is run, over kernels that do nothing.

#include "expect_error.h"
#include "runtime/vm/machine.h"

using namespace tessera;

namespace {

class Kernels final : public ModuleBody {
 public:
  std::string type_key() const override { return "nothing"; }
  PackedFunc get_function(const std::string&, const Module&) override {
    return PackedFunc([](Args, Any*) {});
  }
};

bool ends_soon(const vm::Program& program) {
  constexpr size_t kMaxBytes = 1 << 20;
  for (const vm::Function& function : program.functions) {
    if (function.code.size() > 1000 || function.registers > 1000) return false;
    for (const vm::Instruction& in : function.code) {
      std::span<const int64_t> operands(function.operands.data() + in.first, in.count);
      switch (in.op) {
        case vm::Opcode::Invoke:
        case vm::Opcode::InvokeClosure:
        case vm::Opcode::AllocTensorReg: return false;
        case vm::Opcode::AllocStorage:
          if (operands[0] > int64_t(kMaxBytes)) return false;
          break;
        case vm::Opcode::AllocTensor:
          if (in.a < 0 && tensor_bytes(operands, vm::dtype_of(in.b)) > kMaxBytes) return false;
          break;
        default: break;
      }
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  expect_value_or_error([&] {
    vm::Program program = vm::load_program({reinterpret_cast<const char*>(data), size});
    vm::program_text(program);
    vm::program_stats(program);
    std::string again = vm::save_program(program);
    if (vm::save_program(vm::load_program(again)) != again) std::abort();
    if (!ends_soon(program)) return;
    vm::Machine machine(vm::make_executable(std::move(program), make_module<Kernels>()), {cpu()}, true);
    for (uint32_t i = 0; i < machine.program().functions.size(); ++i) {
      std::vector<ObjectRef> args;
      for (const vm::Parameter& param : machine.program().functions[i].params) {
        std::vector<int64_t> shape;
        for (int64_t extent : param.shape) shape.push_back(extent < 0 ? 2 : extent);
        bool is_small = tensor_bytes(shape, param.dtype) < (1 << 20);
        args.push_back(is_small ? NDArray::empty(shape, param.dtype) : NDArray::empty({}, DataType::Float(32)));
      }
      expect_value_or_error([&] { machine.invoke(i, args); });
    }
  });
  return 0;
}
