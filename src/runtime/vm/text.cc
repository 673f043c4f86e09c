// Programs as text for people.

#include <fmt/format.h>

#include <algorithm>

#include "runtime/vm/executable.h"

namespace tessera::vm {
namespace {

std::string registers(std::span<const int64_t> list) {
  std::string out;
  for (int64_t reg : list) out += (out.empty() ? "$" : ", $") + std::to_string(reg);
  return "(" + out + ")";
}

/// "invoke_packed PackedFunc[0] (in: $0, $1, out: $2)"
std::string instruction_text(const Program& program, const Function& function, const Instruction& in) {
  std::span<const int64_t> operands(function.operands.data() + in.first, in.count);
  std::string name(opcode_name(in.op));
  switch (in.op) {
    case Opcode::Move: return fmt::format("{} ${} ${}", name, in.dst, in.a);
    case Opcode::Ret:
    case Opcode::KillRegister: return fmt::format("{} ${}", name, in.a);
    case Opcode::Invoke:
      return fmt::format("{} ${} VMFunc[{}]{} {}", name, in.dst, in.a, registers(operands),
                         program.functions[static_cast<size_t>(in.a)].name);
    case Opcode::InvokeClosure: return fmt::format("{} ${} ${}{}", name, in.dst, in.a, registers(operands));
    case Opcode::InvokePacked: {
      auto inputs = operands.first(in.count - static_cast<uint32_t>(in.b));
      return fmt::format("{} PackedFunc[{}] in: {}, out: {} {}", name, in.a, registers(inputs),
                         registers(operands.last(static_cast<size_t>(in.b))),
                         program.primitives[static_cast<size_t>(in.a)]);
    }
    case Opcode::AllocTensor: {
      std::string where = in.a < 0 ? "" : fmt::format(" in ${} at {}", in.a, operands[0]);
      return fmt::format("{} ${} {} {}{}", name, in.dst, shape_text(in.a < 0 ? operands : operands.subspan(1)),
                         dtype_of(in.b).str(), where);
    }
    case Opcode::AllocTensorReg: return fmt::format("{} ${} ${} {}", name, in.dst, in.a, dtype_of(in.b).str());
    case Opcode::AllocADT: return fmt::format("{} ${} tag({}) {}", name, in.dst, in.a, registers(operands));
    case Opcode::AllocClosure:
      return fmt::format("{} ${} VMFunc[{}]{} {}", name, in.dst, in.a, registers(operands),
                         program.functions[static_cast<size_t>(in.a)].name);
    case Opcode::GetField: return fmt::format("{} ${} ${}[{}]", name, in.dst, in.a, in.b);
    case Opcode::SetField: return fmt::format("{} ${}[{}] ${}", name, in.a, in.b, in.c);
    case Opcode::If: return fmt::format("{} ${} == ${} else {}", name, in.a, in.b, in.c);
    case Opcode::LoadConst: return fmt::format("{} ${} Const[{}]", name, in.dst, in.a);
    case Opcode::Goto: return fmt::format("{} {}", name, in.a);
    case Opcode::GetTag:
    case Opcode::ShapeOf: return fmt::format("{} ${} ${}", name, in.dst, in.a);
    case Opcode::LoadConsti: return fmt::format("{} ${} {}", name, in.dst, in.a);
    case Opcode::Fatal: return name;
    case Opcode::AllocStorage: return fmt::format("{} ${} {} align {}", name, in.dst, operands[0], operands[1]);
    case Opcode::ReshapeTensor:
      return fmt::format("{} ${} ${} {}", name, in.dst, in.a,
                         in.b < 0 ? shape_text(operands) : fmt::format("${}", in.b));
    case Opcode::DeviceCopy: return fmt::format("{} ${} ${} device {}", name, in.dst, in.a, in.b);
    case Opcode::Append: return fmt::format("{} ${} ${} ${}", name, in.dst, in.a, in.b);
    case Opcode::ShapeFunc:
      return fmt::format("{} ${} ShapeProgram[{}]{} {}", name, in.dst, in.a, registers(operands),
                         program.shapes[static_cast<size_t>(in.a)].name);
  }
  return name;
}

}  // namespace

std::string program_text(const Program& program) {
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  for (size_t f = 0; f < program.functions.size(); ++f) {
    const Function& function = program.functions[f];
    fmt::format_to(to, "VM Function[{}]: {}(", f, function.name);
    for (size_t i = 0; i < function.params.size(); ++i)
      fmt::format_to(to, "{}{}", i ? ", " : "", function.params[i].name);
    fmt::format_to(to, ")\n# reg file size = {}\n# instruction count = {}\nopcode, fields # inst(text):\n",
                   function.registers, function.code.size());
    for (size_t i = 0; i < function.code.size(); ++i) {
      const Instruction& in = function.code[i];
      std::string fields = fmt::format("{} {} {} {} {}", static_cast<int>(in.op), in.dst, in.a, in.b, in.c);
      for (uint32_t k = 0; k < in.count; ++k) fields += fmt::format(" {}", function.operands[in.first + k]);
      fmt::format_to(to, "{:>2}: {} # {}\n", i, fields, instruction_text(program, function, in));
    }
    fmt::format_to(to, "\n");
  }
  for (size_t s = 0; s < program.shapes.size(); ++s) {
    const ShapeProgram& shape = program.shapes[s];
    fmt::format_to(to, "Shape Program[{}]: {}\n", s, shape.name);
    for (size_t i = 0; i < shape.steps.size(); ++i) {
      const ShapeStep& step = shape.steps[i];
      std::string text(shape_op_name(step.op));
      if (step.op == ShapeOp::Constant) text = std::to_string(step.imm);
      else if (step.op == ShapeOp::Extent) text = fmt::format("extent {} of argument {}", step.b, step.a);
      else if (step.op == ShapeOp::Not) text += fmt::format(" #{}", step.a);
      else if (step.op == ShapeOp::Select) text += fmt::format(" #{} #{} #{}", step.a, step.b, step.c);
      else text += fmt::format(" #{} #{}", step.a, step.b);
      fmt::format_to(to, " #{} = {}\n", i, text);
    }
    for (const ShapeCheck& check : shape.checks) fmt::format_to(to, " check #{}: {}\n", check.step, check.message);
    std::string result;
    for (uint32_t step : shape.result) result += fmt::format("{}#{}", result.empty() ? "" : ", ", step);
    fmt::format_to(to, " result ({})\n\n", result);
  }
  return fmt::to_string(out);
}

std::string program_stats(const Program& program) {
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "Relay VM executable statistics:\n  Constant shapes (# {}): [", program.constants.size());
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const NDArray& constant = program.constants[i];
    std::string shape = !constant ? "late bound" : constant.shape().empty() ? "scalar" : shape_text(constant.shape());
    fmt::format_to(to, "{}{}", i ? ", " : "", shape);
  }
  fmt::format_to(to, "]\n  Globals (#{}): [", program.functions.size());
  for (size_t i = 0; i < program.functions.size(); ++i)
    fmt::format_to(to, "{}(\"{}\", {})", i ? ", " : "", program.functions[i].name, i);
  fmt::format_to(to, "]\n  Primitive ops (#{}): [", program.primitives.size());
  for (size_t i = 0; i < program.primitives.size(); ++i)
    fmt::format_to(to, "{}{}", i ? ", " : "", program.primitives[i]);
  fmt::format_to(to, "]\n");
  return fmt::to_string(out);
}

}  // namespace tessera::vm
