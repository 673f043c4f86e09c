// How integers narrower than a register travel. In C's conventions one side extends them (ARM: the caller, to 32 bits;
// RISC-V: to 64, where an int is extended by its sign whatever its type; AArch64: whoever reads them), and LLVM does so
// only where it is told. Here both sides do: a call extends its arguments and a function its result, and neither relies
// on what it is given.

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

llvm::Attribute::AttrKind extension(DataType dtype) {
  if (!dtype.is_integral() || dtype.lanes != 1 || dtype.bits >= 32) return llvm::Attribute::None;
  return dtype.is_int() ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
}

}  // namespace

void CodeGen::extend_result(llvm::Function* function, DataType dtype) {
  if (auto kind = extension(dtype); kind != llvm::Attribute::None) function->addRetAttr(kind);
}

void CodeGen::extend_argument(llvm::CallInst* call, size_t position, DataType dtype) {
  if (auto kind = extension(dtype); kind != llvm::Attribute::None) call->addParamAttr(unsigned(position), kind);
}

void CodeGen::extend_ints() {
  if (!llvm::Triple(machine_.triple).isRISCV64()) return;
  for (llvm::Function& function : *module_) {
    if (function.isDeclaration()) continue;
    if (function.getReturnType()->isIntegerTy(32)) function.addRetAttr(llvm::Attribute::SExt);
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (!call || llvm::isa<llvm::IntrinsicInst>(call)) continue;
        for (unsigned i = 0; i < call->arg_size(); ++i)
          if (call->getArgOperand(i)->getType()->isIntegerTy(32)) call->addParamAttr(i, llvm::Attribute::SExt);
      }
  }
}

}  // namespace tessera::codegen
