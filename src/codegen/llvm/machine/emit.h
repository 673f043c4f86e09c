#pragma once
// An LLVM module in the forms it is saved in.

#include "codegen/llvm/machine/target_machine.h"

namespace tessera::codegen {

/// Machine code: an object file, or assembly text. The module is not changed.
std::string emit_object(const llvm::Module& module, const Machine& machine);
std::string emit_assembly(const llvm::Module& module, const Machine& machine);
std::string emit_text(const llvm::Module& module);
std::string emit_bitcode(const llvm::Module& module);

}  // namespace tessera::codegen
