#pragma once
// A compiled program of the virtual machine: bytecode, constants, and the names of the kernels it calls.

#include <memory>
#include <unordered_map>

#include "runtime/module/module.h"
#include "runtime/ndarray.h"
#include "runtime/vm/bytecode.h"
#include "runtime/vm/shape_program.h"

namespace tessera::vm {

/// Does not change once made (late-bound constants are filled before first use), so any number of machines share one.
struct Program {
  std::vector<int32_t> device_types;  // what the program runs on; the first is where results are
  std::vector<Function> functions;
  std::vector<NDArray> constants;           // an empty one is bound late, by its name
  std::vector<std::string> constant_names;  // "const_3"
  std::vector<std::string> primitives;      // kernels, by name in the library
  std::vector<ShapeProgram> shapes;
  std::vector<std::string> sources;  // nodes of the model that instructions compute; see runtime/package/model_names.h

  /// The index of a function; an error that lists the names there are.
  uint32_t index_of(const std::string& function) const;
  /// Fills `by_name`, and throws a ValueError that says what and where unless every index points inside, jumps go
  /// forwards and end inside, and every register is one of its function's.
  void check();

 private:
  std::unordered_map<std::string, uint32_t> by_name_;
};

/// Everything but the kernels as bytes, and back. Reading trusts nothing.
std::string save_program(const Program& program);
/// The same into a stream: constants are not copied.
void write_program(ByteWriter& out, const Program& program);
Program load_program(std::string_view data, const std::string& what = "VM executable");

/// The text of all functions, one instruction a line.
std::string program_text(const Program& program);
/// How much there is of what, in words.
std::string program_stats(const Program& program);

/// The program as a module of type "VMExecutable"; its first import, if any, is the library of kernels.
Module make_executable(Program program, const Module& library);
/// A virtual machine for such a module, as a module of its functions: init, set_input, invoke, profile and more.
Module make_machine(Module executable);
/// The program of such a module; an error for other kinds.
std::shared_ptr<const Program> program_of(const Module& executable);
/// The library of its kernels; empty when there is none.
Module library_of(const Module& executable);

}  // namespace tessera::vm
