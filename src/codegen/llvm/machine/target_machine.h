#pragma once
// What LLVM is told about the machine that code is made for.

#include "codegen/llvm/pch.h"
#include "ir/target/target.h"

namespace tessera::codegen {

/// The options of an "llvm" target, resolved: no -mcpu and no -mtriple means this very machine.
struct Machine {
  std::string text;  // the target as the user wrote it
  std::string triple, cpu, features, abi;
  int opt_level = 2;      // 3 adds LLVM's own vectorisers and unroller, 0 leaves out nearly everything
  std::string float_abi;  // of 32-bit ARM: "hard", "soft", or as the triple says
  int sve_bits = 0;       // of a vector of SVE where its length is known, and code is for that length alone
  llvm::FastMathFlags fast_math;

  bool is_x86() const;
  bool is_nvptx() const;
  bool is_gpu() const;
  /// True when code for this machine can run in this process.
  bool is_host() const;
};

/// Makes LLVM's back ends known, and turns its fatal errors into exceptions. Cheap after the first call.
void initialize_llvm();

Machine read_machine(const Target& target);
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine);
/// The one that this thread made last, or a new one where that was for another machine: making one reads all features of all
/// CPUs of its kind. Valid until the next call.
llvm::TargetMachine& target_machine_of_thread(const Machine& machine);
/// Functions made for `machine` carry its CPU and features, so that a saved module can be read back alone.
void set_machine_attributes(llvm::Function* function, const Machine& machine);

/// Errors of LLVM's own kind as ours.
[[noreturn]] void throw_llvm(llvm::Error error, const std::string& doing);
template <class T>
T take_or_throw(llvm::Expected<T> value, const std::string& doing) {
  if (!value) throw_llvm(value.takeError(), doing);
  return std::move(*value);
}

}  // namespace tessera::codegen
