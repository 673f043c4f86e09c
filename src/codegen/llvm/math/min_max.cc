// Min and Max. Of floats a NaN among the operands is the answer (codegen.h): LLVM's minimum and maximum.
// Of zeros either may be the answer. Against a constant x86 then needs one instruction, which gives its second operand
// where one is NaN, and for two operands a comparison and a blend besides; ARM has an instruction.

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

HalfExtremum half_extremum(const llvm::TargetMachine& target) {
  const llvm::Triple& triple = target.getTargetTriple();
  auto has = [&](const char* feature) { return target.getMCSubtargetInfo()->checkFeatures(feature); };
  if (triple.isX86() && has("+avx512fp16")) return HalfExtremum::Comparisons;
  if (triple.isAArch64() && has("+fullfp16")) return HalfExtremum::Native;
  return HalfExtremum::Widened;
}

llvm::Value* CodeGen::extremum(bool is_min, DataType dtype, Value* a, Value* b) {
  const NodeInfo* wins = is_min ? &LT::info : &GT::info;
  if (!dtype.is_float()) return builder_.CreateSelect(compare(wins, dtype, a, b), a, b);
  // The first operand is compared with itself: of max(current, element) the element, so that a reduction's next step
  // does not wait for it.
  std::swap(a, b);
  if (dtype.bits != 16) return real_extremum(is_min, a, b);
  switch (half_extremum_) {
    case HalfExtremum::Native: return real_extremum(is_min, a, b);
    case HalfExtremum::Comparisons: {  // LLVM expands the functions on vectors of these
      if (llvm::isa<llvm::Constant>(b)) std::swap(a, b);
      Value* usual = builder_.CreateSelect(compare(wins, dtype, a, b), a, b);
      if (builder_.getFastMathFlags().noNaNs()) return usual;
      return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, usual);
    }
    case HalfExtremum::Widened: break;
  }
  // The fence keeps LLVM from narrowing the function again, which it would expand lane by lane.
  llvm::Type* wide = value_type(dtype.with_bits(32));
  Value* x = builder_.CreateFPExt(a, wide);
  if (!llvm::isa<llvm::Constant>(x)) x = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::arithmetic_fence, x);
  return builder_.CreateFPTrunc(real_extremum(is_min, x, builder_.CreateFPExt(b, wide)), value_type(dtype));
}

llvm::Value* CodeGen::real_extremum(bool is_min, Value* a, Value* b) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  llvm::FastMathFlags flags = builder_.getFastMathFlags();
  flags.setNoSignedZeros();
  builder_.setFastMathFlags(flags);
  return builder_.CreateBinaryIntrinsic(is_min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, a, b);
}

}  // namespace tessera::codegen
