#pragma once
// Which instructions of its CPU a module may contain.

#include "codegen/llvm/machine/target_machine.h"

namespace tessera::codegen {

/// Features that the functions of a module may use, as the loader's check spells them: "avx,avx2,fma for haswell". All that
/// LLVM was allowed to use counts, whether or not it did; features whose instructions LLVM never chooses by itself count where
/// the module calls one by name. Empty where the architecture has nothing to check.
std::string needed_features(const llvm::Module& module, const llvm::TargetMachine& target, const Machine& machine);

}  // namespace tessera::codegen
