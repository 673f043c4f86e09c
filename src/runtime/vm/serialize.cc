// A program as bytes, little endian:
//
//   u64 0xD225DE2F4214151D, str version
//   n x i32 device type;  constants: n x (str name, u8 is it here, tensor);  n x str kernel name
//   shape programs: n x (str name, n x u32 rank, n x (u8 op, u32 a, b, c, i64 imm), n x (u32 step, str message),
//                        n x u32 step of the result)
//   n x str names of nodes of the model
//   functions: n x (str name, n x parameter, n x result as a parameter, u32 registers, n x i64 operand,
//                   n x (u8 op, i32 dst, a, b, c, u32 first, count, i32 nodes))
//   parameter: str name, u8 0 or, of a tensor, one more than its device, u8 code, u8 bits, u16 lanes, n x i64 extent,
//              n x str name of a dimension (since version 3)
//
// Each list is led by its u64 length.

#include "runtime/package/params.h"
#include "runtime/vm/executable.h"

namespace tessera::vm {
namespace {

constexpr uint64_t kMagic = 0xD225DE2F4214151D;
constexpr const char *kVersion = "tessera-vm-3", *kVersionWithoutDims = "tessera-vm-2";

template <class Items, class F>
void write_list(ByteWriter& out, const Items& items, F&& each) {
  out.write(uint64_t{items.size()});
  for (const auto& item : items) each(item);
}

/// Reads a list of which each item takes at least `bytes`, so that a forged length cannot ask for much memory.
template <class T, class F>
std::vector<T> read_list(ByteReader& in, size_t bytes, const char* part, F&& each) {
  size_t count = in.read_count(bytes, part);
  std::vector<T> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) out.push_back(each());
  return out;
}

void write(ByteWriter& out, const ShapeProgram& shape) {
  out.write(shape.name);
  write_list(out, shape.ranks, [&](uint32_t rank) { out.write(rank); });
  write_list(out, shape.steps, [&](const ShapeStep& step) {
    out.write(static_cast<uint8_t>(step.op));
    for (uint32_t part : {step.a, step.b, step.c}) out.write(part);
    out.write(step.imm);
  });
  write_list(out, shape.checks, [&](const ShapeCheck& check) {
    out.write(check.step);
    out.write(check.message);
  });
  write_list(out, shape.result, [&](uint32_t step) { out.write(step); });
}

ShapeProgram read_shape(ByteReader& in) {
  ShapeProgram out;
  out.name = in.read_string("the name of a shape program");
  auto number = [&] { return in.read<uint32_t>("a shape program"); };
  out.ranks = read_list<uint32_t>(in, 4, "the ranks of a shape program", number);
  out.steps = read_list<ShapeStep>(in, 21, "the steps of a shape program", [&] {
    ShapeStep step;
    step.op = static_cast<ShapeOp>(in.read<uint8_t>("a step"));
    for (uint32_t* part : {&step.a, &step.b, &step.c}) *part = number();
    step.imm = in.read<int64_t>("a step");
    return step;
  });
  out.checks = read_list<ShapeCheck>(in, 12, "the checks of a shape program", [&] {
    uint32_t step = number();
    return ShapeCheck{step, in.read_string("a check")};
  });
  out.result = read_list<uint32_t>(in, 4, "the result of a shape program", number);
  return out;
}

void write(ByteWriter& out, const std::vector<Parameter>& params) {
  write_list(out, params, [&](const Parameter& param) {
    out.write(param.name);
    out.write(static_cast<uint8_t>(param.is_tensor ? param.device + 1 : 0));
    out.write(param.dtype.code);
    out.write(param.dtype.bits);
    out.write(param.dtype.lanes);
    write_list(out, param.shape, [&](int64_t extent) { out.write(extent); });
    write_list(out, param.dims, [&](const std::string& name) { out.write(name); });
  });
}

std::vector<Parameter> read_params(ByteReader& in, bool has_dims) {
  return read_list<Parameter>(in, 21, "the parameters of a function", [&] {
    Parameter param;
    param.name = in.read_string("the name of a parameter");
    auto tag = in.read<uint8_t>("a parameter");
    param.is_tensor = tag != 0;
    param.device = tag ? tag - 1 : 0;
    param.dtype.code = in.read<uint8_t>("a parameter");
    param.dtype.bits = in.read<uint8_t>("a parameter");
    param.dtype.lanes = in.read<uint16_t>("a parameter");
    param.shape = read_list<int64_t>(in, 8, "the shape of a parameter", [&] { return in.read<int64_t>("a shape"); });
    if (has_dims)
      param.dims =
          read_list<std::string>(in, 8, "the dimensions of a parameter", [&] { return in.read_string("a name"); });
    return param;
  });
}

void write(ByteWriter& out, const Function& function) {
  out.write(function.name);
  write(out, function.params);
  write(out, function.results);
  out.write(function.registers);
  write_list(out, function.operands, [&](int64_t operand) { out.write(operand); });
  write_list(out, function.code, [&](const Instruction& at) {
    out.write(static_cast<uint8_t>(at.op));
    for (int32_t part : {at.dst, at.a, at.b, at.c}) out.write(part);
    out.write(at.first);
    out.write(at.count);
    out.write(at.source);
  });
}

Function read_function(ByteReader& in, bool has_dims) {
  Function out;
  out.name = in.read_string("the name of a function");
  out.params = read_params(in, has_dims);
  out.results = read_params(in, has_dims);
  out.registers = in.read<uint32_t>("the number of registers");
  out.operands = read_list<int64_t>(in, 8, "the operands of a function", [&] { return in.read<int64_t>("operands"); });
  out.code = read_list<Instruction>(in, 29, "the instructions of a function", [&] {
    Instruction at;
    at.op = static_cast<Opcode>(in.read<uint8_t>("an instruction"));
    for (int32_t* part : {&at.dst, &at.a, &at.b, &at.c}) *part = in.read<int32_t>("an instruction");
    at.first = in.read<uint32_t>("an instruction");
    at.count = in.read<uint32_t>("an instruction");
    at.source = in.read<int32_t>("an instruction");
    return at;
  });
  // A function needs no more registers than its parameters and instructions name; more would only take memory.
  if (out.registers > out.params.size() + out.code.size())
    in.fail("the number of registers", "is " + std::to_string(out.registers) + ", more than the function can use");
  return out;
}

}  // namespace

void write_program(ByteWriter& out, const Program& program) {
  out.write(kMagic);
  out.write(kVersion);
  write_list(out, program.device_types, [&](int32_t type) { out.write(type); });
  out.write(uint64_t{program.constants.size()});
  for (size_t i = 0; i < program.constants.size(); ++i) {
    out.write(program.constant_names[i]);
    out.write(static_cast<uint8_t>(program.constants[i].defined()));
    if (program.constants[i]) write_tensor(out, program.constants[i]);
  }
  write_list(out, program.primitives, [&](const std::string& name) { out.write(name); });
  write_list(out, program.shapes, [&](const ShapeProgram& shape) { write(out, shape); });
  write_list(out, program.sources, [&](const std::string& names) { out.write(names); });
  write_list(out, program.functions, [&](const Function& function) { write(out, function); });
}

std::string save_program(const Program& program) {
  ByteWriter counted([](std::string_view) {});
  write_program(counted, program);
  std::string bytes;
  bytes.reserve(counted.size());
  ByteWriter out([&](std::string_view part) { bytes.append(part); });
  write_program(out, program);
  out.flush();
  return bytes;
}

Program load_program(std::string_view data, const std::string& what) {
  ByteReader in(data, what);
  if (in.read<uint64_t>("the header") != kMagic) in.fail("the header", "is not that of a VM executable");
  std::string version = in.read_string("the version");
  if (version != kVersion && version != kVersionWithoutDims)
    in.fail("the version", "is \"" + version + "\", and this runtime reads \"" + kVersion + "\"");
  Program out;
  out.device_types = read_list<int32_t>(in, 4, "the devices", [&] { return in.read<int32_t>("a device"); });
  size_t constants = in.read_count(9, "the constants");
  for (size_t i = 0; i < constants; ++i) {
    out.constant_names.push_back(in.read_string("the name of a constant"));
    out.constants.push_back(in.read<uint8_t>("a constant") ? read_tensor(in) : NDArray());
  }
  out.primitives =
      read_list<std::string>(in, 8, "the names of kernels", [&] { return in.read_string("the name of a kernel"); });
  out.shapes = read_list<ShapeProgram>(in, 40, "the shape programs", [&] { return read_shape(in); });
  out.sources =
      read_list<std::string>(in, 8, "the names of nodes", [&] { return in.read_string("the names of nodes"); });
  out.functions = read_list<Function>(in, 44, "the functions", [&] { return read_function(in, version == kVersion); });
  if (in.left() != 0) in.fail("the end", "is followed by something else");
  out.check();
  return out;
}

}  // namespace tessera::vm
