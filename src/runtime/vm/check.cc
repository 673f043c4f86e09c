// What a program must keep to before it may run: checked once, so that the machine need not look again.

#include "runtime/vm/executable.h"

namespace tessera::vm {
namespace {

class Checker {
 public:
  Checker(const Program& program, const Function& function) : program_(program), function_(function) {}

  void run() {
    if (function_.params.size() > function_.registers) fail("has fewer registers than parameters");
    for (const auto* list : {&function_.params, &function_.results})
      for (const Parameter& param : *list) {
        inside(param.device, program_.device_types.size(), "device");
        if (!param.dims.empty() && param.dims.size() != param.shape.size())
          fail("has names for dimensions that are not there");
      }
    if (function_.code.empty()) fail("has no instructions");
    for (at_ = 0; at_ < function_.code.size(); ++at_) check(function_.code[at_]);
    Opcode last = function_.code.back().op;
    if (last != Opcode::Ret && last != Opcode::Fatal) fail("runs off its end");
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ValueError) << "corrupt VM executable: function \"" << function_.name << "\" " << problem
                            << " (instruction " << at_ << " of " << function_.code.size() << ")";
  }
  void reg(int64_t index) const {
    if (index < 0 || index >= static_cast<int64_t>(function_.registers)) fail("uses a register it does not have");
  }
  void inside(int64_t index, size_t count, const char* what) const {
    if (index < 0 || static_cast<uint64_t>(index) >= count) fail(std::string("names a ") + what + " that is not there");
  }
  void jump(int64_t offset) const {
    if (offset <= 0 || static_cast<uint64_t>(offset) >= function_.code.size() - at_)
      fail("jumps outside, or backwards");
  }
  int64_t operand(const Instruction& in, uint32_t i) const { return function_.operands[in.first + i]; }
  void dtype(int32_t code) const {
    DataType type = dtype_of(code);
    if (type.code > DataType::kBFloat || type.bits == 0 || type.bits > 64 || type.lanes == 0)
      fail("makes a tensor of no element type");
  }

  void check(const Instruction& in) const {
    if (static_cast<int>(in.op) >= kNumOpcodes) fail("has an instruction of no kind");
    if (uint64_t{in.first} + in.count > function_.operands.size()) fail("has operands that are not there");
    each_use(const_cast<Function&>(function_), const_cast<Instruction&>(in), [&](int32_t used) { reg(used); });
    if (writes(in.op)) reg(in.dst);
    else if (in.dst != -1) fail("writes a register where nothing is computed");
    if (in.source != -1) inside(in.source, program_.sources.size(), "list of nodes");
    size_t devices = program_.device_types.size();
    switch (in.op) {
      case Opcode::Invoke:
        inside(in.a, program_.functions.size(), "function");
        if (in.count != program_.functions[static_cast<size_t>(in.a)].params.size())
          fail("calls a function with another number of arguments");
        break;
      case Opcode::InvokePacked:
        inside(in.a, program_.primitives.size(), "kernel");
        if (in.b < 0 || static_cast<uint32_t>(in.b) > in.count) fail("calls a kernel with more results than arguments");
        break;
      case Opcode::AllocTensor:
        dtype(in.b);
        inside(in.c, devices, "device");
        if (in.a >= 0 && in.count == 0) fail("makes a tensor in a storage without an offset");
        if (in.a < -1) fail("uses a register it does not have");
        break;
      case Opcode::AllocTensorReg:
        dtype(in.b);
        inside(in.c, devices, "device");
        break;
      case Opcode::AllocStorage:
        inside(in.c, devices, "device");
        if (in.count != 2 || operand(in, 0) < 0 || operand(in, 1) <= 0 || operand(in, 1) > 4096)
          fail("makes a storage of no size or alignment");
        break;
      case Opcode::AllocClosure:
        inside(in.a, program_.functions.size(), "function");
        if (in.count > program_.functions[static_cast<size_t>(in.a)].params.size())
          fail("binds more parameters than the function has");
        break;
      case Opcode::LoadConst:
        inside(in.a, program_.constants.size(), "constant");
        inside(in.b, devices, "device");
        break;
      case Opcode::DeviceCopy: inside(in.b, devices, "device"); break;
      case Opcode::ShapeFunc: inside(in.a, program_.shapes.size(), "shape program"); break;
      case Opcode::Append:
        inside(in.c, devices, "device");
        if (in.count != 1 || operand(in, 0) < 0) fail("appends a row without saying how many there will be");
        break;
      case Opcode::If: jump(in.c); break;
      case Opcode::Goto: jump(in.a); break;
      default: break;
    }
  }

  static bool writes(Opcode op) {
    switch (op) {
      case Opcode::Ret:
      case Opcode::InvokePacked:
      case Opcode::If:
      case Opcode::Goto:
      case Opcode::Fatal:
      case Opcode::KillRegister:
      case Opcode::SetField: return false;
      default: return true;
    }
  }

  const Program& program_;
  const Function& function_;
  size_t at_ = 0;
};

}  // namespace

uint32_t Program::index_of(const std::string& function) const {
  auto it = by_name_.find(function);
  if (it != by_name_.end()) return it->second;
  Error error(ValueError);
  error << "the VM executable has no function \"" << function << "\"; it has";
  for (const Function& known : functions) error << (&known == &functions[0] ? " " : ", ") << known.name;
  throw error;
}

void Program::check() {
  if (device_types.empty()) throw Error(ValueError) << "corrupt VM executable: it runs on no device";
  if (constants.size() != constant_names.size())
    throw Error(ValueError) << "corrupt VM executable: " << constants.size() << " constants have "
                            << constant_names.size() << " names";
  for (const ShapeProgram& shape : shapes)
    if (std::string problem = shape.problem(); !problem.empty())
      throw Error(ValueError) << "corrupt VM executable: the shape program of \"" << shape.name << "\" " << problem;
  by_name_.clear();
  for (uint32_t i = 0; i < functions.size(); ++i) {
    if (!by_name_.emplace(functions[i].name, i).second)
      throw Error(ValueError) << "corrupt VM executable: two functions are named \"" << functions[i].name << "\"";
    Checker(*this, functions[i]).run();
  }
}

}  // namespace tessera::vm
