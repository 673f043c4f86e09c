#pragma once
// The CPU that an "llvm" target means, as the code generator sees it.

#include <set>

#include "ir/target/target.h"

namespace tessera::codegen {

struct TargetCpu {
  std::string arch;                // "x86_64", "aarch64", "arm", "riscv64", ...
  std::string name;                // LLVM's name of it: "znver4", "cortex-a72", "generic"
  bool is_host = false;            // the very CPU this runs on
  bool runs_here = false;          // the same architecture and system, perhaps with fewer instructions
  int sve_bits = 0;                // of vectors of SVE, where code is for one length of them
  std::set<std::string> features;  // by LLVM's names; those a CPU implies are listed too
};

/// No -mcpu and no -mtriple mean the machine this runs on.
TargetCpu target_cpu(const Target& target);

/// What code for this target may need of its CPU, as the loader's check spells it (runtime/cpu/features.h).
std::string cpu_needs(const Target& target);

/// LLVM's number for an intrinsic, as `tir.call_llvm_pure_intrin` takes it; an unknown name is an error.
int64_t llvm_intrinsic_id(const std::string& name);

}  // namespace tessera::codegen
