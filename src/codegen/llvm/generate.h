#pragma once
// From low-level PrimFuncs to a finished LLVM module.

#include "codegen/llvm/machine/target_machine.h"

namespace tessera::codegen {

/// A module with the context it lives in.
struct OwnedModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

using NamedFunctions = std::vector<std::pair<GlobalVar, PrimFunc>>;

/// Translated, verified and optimised. `entry`: the function that the module itself stands for when it is called, or "".
OwnedModule generate_llvm(const NamedFunctions& functions, const Machine& machine, const std::string& entry);

/// The flag of an LLVM module that holds the text of its target.
inline constexpr const char* kTargetFlag = "tvm_target";

}  // namespace tessera::codegen
