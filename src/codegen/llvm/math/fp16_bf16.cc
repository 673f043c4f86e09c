// 16-bit floats. bfloat16 always, and float16 where the machine has no arithmetic for it, are kept as their bits in
// 16-bit integers and computed with as float32, rounded to nearest even after each operation. Conversions are
// instructions where there are some, else integer arithmetic on all lanes: code needs no function of the C compiler's
// run-time library, which differs from machine to machine, and meets no denormal float32, which NEON takes for 0. The
// instructions that round to bfloat16 on x86 take denormals for 0, too.

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

llvm::Type* like(llvm::Type* shape, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

llvm::Constant* number(llvm::Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

}  // namespace

HalfSupport half_support(const llvm::TargetMachine& target) {
  const llvm::Triple& triple = target.getTargetTriple();
  auto has = [&](const char* feature) { return target.getMCSubtargetInfo()->checkFeatures(feature); };
  if (triple.isX86()) return has("+f16c") || has("+avx512fp16") ? HalfSupport::Arithmetic : HalfSupport::None;
  if (triple.isARM() || triple.isThumb())  // LLVM would keep more bits between operations than the type has
    return has("+fullfp16") ? HalfSupport::Arithmetic : has("+fp16") ? HalfSupport::Conversions : HalfSupport::None;
  if (triple.isRISCV()) return has("+zfhmin") || has("+zfh") ? HalfSupport::Arithmetic : HalfSupport::None;
  return HalfSupport::Arithmetic;
}

bool rounds_to_bfloat(const llvm::TargetMachine& target) {
  const llvm::Triple& triple = target.getTargetTriple();
  auto has = [&](const char* feature) { return target.getMCSubtargetInfo()->checkFeatures(feature); };
  if (triple.isX86()) return (has("+avx512bf16") && has("+avx512vl")) || has("+avxneconvert");
  return triple.isAArch64() && has("+bf16") && !has("+sve");  // LLVM selects nothing for SVE vectors of a fixed length
}

bool CodeGen::is_kept_as_bits(DataType dtype) const {
  return dtype.is_bfloat() || (dtype.is_float() && dtype.bits == 16 && half_ != HalfSupport::Arithmetic);
}

llvm::Value* CodeGen::widen(Value* bits, DataType dtype) {
  llvm::Type* wide = like(bits->getType(), i32_);
  llvm::Type* single = like(wide, builder_.getFloatTy());
  if (dtype.is_float() && half_ == HalfSupport::Conversions)
    return builder_.CreateFPExt(builder_.CreateBitCast(bits, like(wide, builder_.getHalfTy())), single);
  Value* value = builder_.CreateZExt(bits, wide);
  if (dtype.is_bfloat()) return builder_.CreateBitCast(builder_.CreateShl(value, number(wide, 16)), single);

  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  Value* sign = builder_.CreateShl(builder_.CreateAnd(value, number(wide, 0x8000)), number(wide, 16));
  Value* size = builder_.CreateShl(builder_.CreateAnd(value, number(wide, 0x7fff)), number(wide, 13));
  Value* usual = builder_.CreateAdd(size, number(wide, 0x38000000));    // the exponent's other bias
  Value* endless = builder_.CreateAdd(size, number(wide, 0x70000000));  // infinities and NaNs
  Value* lifted = builder_.CreateBitCast(builder_.CreateAdd(size, number(wide, 0x38800000)), single);
  Value* denormal = builder_.CreateFSub(lifted, llvm::ConstantFP::get(single, 0x1p-14));
  Value* out = builder_.CreateSelect(builder_.CreateICmpUGE(size, number(wide, 0x0f800000)), endless, usual);
  out = builder_.CreateSelect(builder_.CreateICmpULT(size, number(wide, 0x00800000)),
                              builder_.CreateBitCast(denormal, wide), out);
  return builder_.CreateBitCast(builder_.CreateOr(out, sign), single);
}

llvm::Value* CodeGen::narrow(Value* value, DataType dtype) {
  llvm::Type* wide = like(value->getType(), i32_);
  llvm::Type* narrow = like(wide, builder_.getInt16Ty());
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  if (dtype.is_float() && half_ == HalfSupport::Conversions)
    return builder_.CreateBitCast(builder_.CreateFPTrunc(value, like(wide, builder_.getHalfTy())), narrow);
  Value* bits = builder_.CreateBitCast(value, wide);
  // Round to nearest even by adding just under half, and one more where the kept part is odd.
  auto rounded_off = [&](Value* from, unsigned count) {
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(from, number(wide, count)), number(wide, 1));
    return builder_.CreateAdd(builder_.CreateAdd(from, odd), number(wide, (1u << (count - 1)) - 1));
  };
  if (dtype.is_bfloat() && rounds_to_bfloat_) {
    // A lane alone is one of four: as a scalar LLVM would call a function of the C compiler's library.
    const bool is_scalar = !value->getType()->isVectorTy();
    if (is_scalar) value = builder_.CreateVectorSplat(4, value);
    Value* halves = builder_.CreateFPTrunc(value, like(value->getType(), builder_.getBFloatTy()));
    Value* words = builder_.CreateBitCast(halves, like(value->getType(), builder_.getInt16Ty()));
    return is_scalar ? builder_.CreateExtractElement(words, uint64_t{0}) : words;
  }
  if (dtype.is_bfloat()) {
    Value* quiet = builder_.CreateOr(bits, number(wide, 0x400000));  // a NaN must not round to infinity
    bits = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, rounded_off(bits, 16));
    return builder_.CreateTrunc(builder_.CreateLShr(bits, number(wide, 16)), narrow);
  }
  Value* sign = builder_.CreateAnd(bits, number(wide, 0x80000000));
  Value* size = builder_.CreateXor(bits, sign);
  Value* is_nan = builder_.CreateICmpUGT(size, number(wide, 0x7f800000));
  Value* endless = builder_.CreateSelect(is_nan, number(wide, 0x7e00), number(wide, 0x7c00));
  Value* usual =
      builder_.CreateLShr(builder_.CreateSub(rounded_off(size, 13), number(wide, 0x38000000)), number(wide, 13));
  // Added to 1/2, the last bit of a float32 is that of a denormal float16.
  Value* shifted =
      builder_.CreateFAdd(builder_.CreateBitCast(size, value->getType()), llvm::ConstantFP::get(value->getType(), 0.5));
  Value* denormal = builder_.CreateSub(builder_.CreateBitCast(shifted, wide), number(wide, 0x3f000000));
  Value* out = builder_.CreateSelect(builder_.CreateICmpUGE(size, number(wide, 0x47800000)), endless, usual);
  out = builder_.CreateSelect(builder_.CreateICmpULT(size, number(wide, 0x38800000)), denormal, out);
  out = builder_.CreateOr(out, builder_.CreateLShr(sign, number(wide, 16)));
  return builder_.CreateTrunc(out, narrow);
}

/// A float64 as a float32 whose last bit tells whether anything was rounded off: rounding that once more, to 16 bits,
/// gives what rounding the float64 at once would.
llvm::Value* CodeGen::round_to_odd(Value* value, DataType from) {
  llvm::Type* single = value_type(from.with_bits(32));
  llvm::Type* wide = like(single, i32_);
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  Value* near = builder_.CreateFPTrunc(value, single);
  Value* back = builder_.CreateFPExt(near, value->getType());
  Value* bits = builder_.CreateBitCast(near, wide);
  Value* exact = builder_.CreateFCmpUEQ(back, value);
  Value* is_odd = builder_.CreateTrunc(bits, like(wide, i1_));
  Value* magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  Value* too_small = builder_.CreateFCmpOLT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), magnitude);
  Value* moved = builder_.CreateSelect(too_small, builder_.CreateAdd(bits, number(wide, 1)),
                                       builder_.CreateSub(bits, number(wide, 1)));
  bits = builder_.CreateSelect(builder_.CreateOr(exact, is_odd), bits, moved);
  return builder_.CreateBitCast(bits, single);
}

}  // namespace tessera::codegen
