#pragma once
// What programs are compiled with, as one value: nothing in this room or above it reads a setting of the thread.

#include <functional>
#include <optional>
#include <string>

#include "ir/pass/pass.h"
#include "ir/target/target.h"
#include "tir/function.h"
#include "topi/cpu/machine.h"
#include "topi/gpu/machine.h"

namespace tessera::kernel {

/// The target of a kernel, the host that calls it, the machine model that schedule rules ask, and the options of the
/// passes that lower it.
struct CompileEnvironment {
  Target target, host;
  topi::Machine machine;  // of a CPU that code is generated for; empty for other targets
  topi::GpuMachine gpu;   // of a GPU; empty for other targets
  PassContext passes;
  /// Programs that a search has found: a module with the unscheduled function "main" (tuning_module), the target and the name of
  /// the kernel give the scheduled one, or an empty reference. Empty where none are asked.
  std::function<PrimFunc(const IRModule& mod, const Target& target, const std::string& kernel)> tuned = {};
  /// Seconds that a program of the target takes on the device of this machine; for several threads. Empty where none is to be measured.
  std::function<double(const PrimFunc& program)> seconds = {};

  static CompileEnvironment make(const Target& target, const Target& host, const PassContext& passes);
  /// True where threads of blocks run a kernel, not cores.
  bool is_gpu() const { return target && target.has_key("gpu"); }
  /// The same for kernels of another target.
  CompileEnvironment on(const Target& other) const;

  /// True where functions of users take part: instruments, passes of their own, databases of tuned programs, and whatever they
  /// have put into the compiler.
  bool calls_users() const;
  /// True where options ask that what can be chosen by measurement is, by the compiler or when it first runs.
  bool measures() const;
  /// How many kernels are compiled at once: one where users are called, who expect the thread that they called from.
  size_t threads() const;
  /// All of it that can change the code of a kernel, as text; nothing where functions of users or measurements can. Options and disabled passes
  /// of graphs are no part of it.
  std::optional<std::string> key() const;
};

}  // namespace tessera::kernel
