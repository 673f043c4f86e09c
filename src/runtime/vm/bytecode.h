#pragma once
// The instructions of the virtual machine, and the functions made of them.
//
// A function has its own registers, which hold tensors, data types, closures and shapes (counted) or small numbers.
// Arguments arrive in the first registers. Jumps go forwards only: loops are calls, and a call whose result is returned
// at once takes over its caller's frame.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace tessera::vm {

/// Numbers 0..20 are v0.10's.
enum class Opcode : uint8_t {
  Move = 0,            // dst = a
  Ret = 1,             // returns a
  Invoke = 2,          // dst = function a (operands)
  InvokeClosure = 3,   // dst = closure a (operands)
  InvokePacked = 4,    // primitive a (operands); the last b of them are written. Where c is 1 it counts elements in
                       // 32 bits
  AllocTensor = 5,     // dst = new tensor of type b on device c; operands = shape. In storage a at an offset, given
                       // as the first operand, where a is not -1
  AllocTensorReg = 6,  // dst = new tensor of type b on device c, with the shape in register a
  AllocADT = 7,        // dst = data with tag a and the fields operands
  AllocClosure = 8,    // dst = function a with its first parameters bound to operands
  GetField = 9,        // dst = field b of a
  If = 10,             // goes on when register a equals register b, else jumps c forwards
  LoadConst = 11,      // dst = constant a on device b
  Goto = 12,           // jumps a forwards
  GetTag = 13,         // dst = the tag of a
  LoadConsti = 14,     // dst = the number a
  Fatal = 15,          // no clause of a match fits
  AllocStorage = 16,   // dst = memory on device c; operands = bytes, alignment
  ShapeOf = 17,        // dst = the shape of tensor a, as an int64 tensor
  ReshapeTensor = 18,  // dst = tensor a seen with the shape in register b, or operands where b is -1
  DeviceCopy = 19,     // dst = tensor a on device b
  KillRegister = 20,   // empties a
  SetField = 21,       // field b of a = register c
  ShapeFunc = 22,      // dst = shape that shape program a computes from the shapes of the tensors operands
  Append =
      23,  // dst = tensor a with tensor b as one more row, on device c; operand = how many rows there will be, or 0
};
inline constexpr int kNumOpcodes = 24;

struct Instruction {
  Opcode op = Opcode::Fatal;
  int32_t dst = -1;  // -1: writes no register
  int32_t a = 0, b = 0, c = 0;
  uint32_t first = 0, count = 0;  // the operands, in the function's list
  int32_t source = -1;            // the nodes of the model it computes, in the program's list; -1: not known
};

/// What is known of a parameter or result: its name, and the type and device where it is a tensor (an extent -1 is anything).
/// `dims`, where it is not empty, has a name or "" for each dimension; those of one name are equal in all parameters.
struct Parameter {
  std::string name;
  bool is_tensor = false;
  int32_t device = 0;
  DataType dtype;
  std::vector<int64_t> shape;
  std::vector<std::string> dims;
};

struct Function {
  std::string name;
  std::vector<Parameter> params;
  std::vector<Parameter> results;  // tuples opened; empty where they are not all tensors
  uint32_t registers = 0;          // parameters included
  std::vector<Instruction> code;
  std::vector<int64_t> operands;
};

std::string_view opcode_name(Opcode op);

/// An element type as an instruction holds it.
inline int32_t dtype_code(DataType dtype) { return dtype.code | dtype.bits << 8 | dtype.lanes << 16; }
inline DataType dtype_of(int32_t code) { return {code & 0xff, code >> 8 & 0xff, code >> 16 & 0xffff}; }

/// The registers an instruction reads, and the one it writes (`dst`), as one list of references that a compiler may
/// rename.
template <class F>
void each_use(Function& function, Instruction& at, F&& f) {
  auto operands = [&](uint32_t from) {
    for (uint32_t i = from; i < at.count; ++i) {
      auto reg = static_cast<int32_t>(function.operands[at.first + i]);
      f(reg);
      function.operands[at.first + i] = reg;
    }
  };
  switch (at.op) {
    case Opcode::Move:
    case Opcode::Ret:
    case Opcode::GetField:
    case Opcode::GetTag:
    case Opcode::ShapeOf:
    case Opcode::DeviceCopy:
    case Opcode::AllocTensorReg:
    case Opcode::KillRegister: f(at.a); break;
    case Opcode::Append:
    case Opcode::If: f(at.a), f(at.b); break;
    case Opcode::ReshapeTensor:
      f(at.a);
      if (at.b >= 0) f(at.b);
      break;
    case Opcode::SetField: f(at.a), f(at.c); break;
    case Opcode::AllocTensor:
      if (at.a >= 0) f(at.a);
      break;
    case Opcode::InvokeClosure: f(at.a), operands(0); break;
    case Opcode::Invoke:
    case Opcode::InvokePacked:
    case Opcode::AllocADT:
    case Opcode::AllocClosure:
    case Opcode::ShapeFunc: operands(0); break;
    case Opcode::LoadConst:
    case Opcode::LoadConsti:
    case Opcode::Goto:
    case Opcode::Fatal:
    case Opcode::AllocStorage: break;
  }
}

}  // namespace tessera::vm
