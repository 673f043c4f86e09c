// y * 2^n for whole numbers n in a floating type: one instruction of AVX-512, else by the bits of the powers.

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

using llvm::Value;

/// The instruction for a whole register of that type; not_intrinsic without one.
llvm::Intrinsic::ID scale_instruction(ScaleSupport support, DataType dtype) {
  if (support == ScaleSupport::None) return llvm::Intrinsic::not_intrinsic;
  const bool has_short = support == ScaleSupport::All, is_double = dtype.bits == 64;
  switch (dtype.bits * dtype.lanes) {
    case 512:
      return is_double ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512
                       : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
    case 256:
      if (!has_short) break;
      return is_double ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_256
                       : llvm::Intrinsic::x86_avx512_mask_scalef_ps_256;
    case 128:
      if (!has_short) break;
      return is_double ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_128
                       : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    default: break;
  }
  return llvm::Intrinsic::not_intrinsic;
}

}  // namespace

ScaleSupport scale_support(const llvm::TargetMachine& target) {
  auto has = [&](const char* feature) { return target.getMCSubtargetInfo()->checkFeatures(feature); };
  if (!target.getTargetTriple().isX86() || !has("+avx512f")) return ScaleSupport::None;
  return has("+avx512vl") ? ScaleSupport::All : ScaleSupport::Wide;
}

llvm::Value* CodeGen::times_power_of_two(Value* y, Value* n, DataType dtype) {
  constexpr int kRegisterBits = 512;
  constexpr uint32_t kCurrentRounding = 4;
  if (auto id = scale_instruction(scale_, dtype); id != llvm::Intrinsic::not_intrinsic) {
    const auto mask_bits = static_cast<unsigned>(std::max<int>(dtype.lanes, 8));
    Value* all = llvm::ConstantInt::getAllOnesValue(builder_.getIntNTy(mask_bits));
    Values args{y, n, y, all};
    if (dtype.bits * dtype.lanes == kRegisterBits) args.push_back(builder_.getInt32(kCurrentRounding));
    return builder_.CreateIntrinsic(id, {}, args);
  }
  // A vector of several registers goes through them one after the other.
  const int whole = kRegisterBits / dtype.bits;
  if (dtype.lanes > whole && dtype.lanes % whole == 0 &&
      scale_instruction(scale_, dtype.with_lanes(whole)) != llvm::Intrinsic::not_intrinsic) {
    Value* out = nullptr;
    for (int first = 0; first < dtype.lanes; first += whole) {
      llvm::SmallVector<int, 64> lanes;
      for (int i = 0; i < whole; ++i) lanes.push_back(first + i);
      Value* part = times_power_of_two(builder_.CreateShuffleVector(y, lanes), builder_.CreateShuffleVector(n, lanes),
                                       dtype.with_lanes(whole));
      llvm::SmallVector<int, 64> widened, merged;
      for (int i = 0; i < dtype.lanes; ++i) widened.push_back(i < whole ? i : llvm::PoisonMaskElem);
      part = builder_.CreateShuffleVector(part, widened);
      for (int i = 0; i < dtype.lanes; ++i)
        merged.push_back(i >= first && i < first + whole ? dtype.lanes + i - first : i);
      out = out ? builder_.CreateShuffleVector(out, part, merged) : part;
    }
    return out;
  }
  // Half of n at a time, so that each power is a normal number and the result may be denormal, zero or infinite.
  const bool is_double = dtype.bits == 64;
  llvm::Type *real = value_type(dtype), *integer = value_type(DataType::Int(dtype.bits, dtype.lanes));
  auto bits = [&](uint64_t value) { return llvm::ConstantInt::get(integer, value); };
  auto power = [&](Value* exponent) {
    Value* biased = builder_.CreateAdd(exponent, bits(is_double ? 1023 : 127));
    return builder_.CreateBitCast(builder_.CreateShl(biased, bits(is_double ? 52 : 23)), real);
  };
  Value* exponent = builder_.CreateFreeze(builder_.CreateFPToSI(n, integer));  // where n is NaN, so is y
  Value* half = builder_.CreateAShr(exponent, bits(1));
  return builder_.CreateFMul(builder_.CreateFMul(y, power(half)), power(builder_.CreateSub(exponent, half)));
}

}  // namespace tessera::codegen
