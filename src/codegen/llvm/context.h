#pragma once
// LLVM contexts, and the errors that LLVM reports through them.

#include <llvm/IR/LLVMContext.h>

#include <memory>

namespace tessera::codegen {

/// A context that keeps the errors reported to it. They are not thrown where they appear: LLVM's own frames would be
/// unwound, and what they own lost.
std::unique_ptr<llvm::LLVMContext> make_context();
/// Throws what was reported since the last call; to be called after LLVM worked on something of the context.
void throw_reported(llvm::LLVMContext& context);

}  // namespace tessera::codegen
