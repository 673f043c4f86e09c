// Floats to integers as truncated_bits (ir/prim/match.h) defines it. LLVM leaves open what its conversion makes of a
// number that does not fit. x86 gives the least integer for it and for NaN, which is the definition; its instructions
// are called by name, so that nothing is assumed about their results. Others convert what has been brought into range.

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include <cmath>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

using llvm::Value;
using Support = TruncateSupport;

struct Row {
  int from, to, lanes;  // bits of the float and of the integer; how many a register has
  Support needs;
  llvm::Intrinsic::ID id;
};

std::span<const Row> rows() {
  using namespace llvm::Intrinsic;  // NOLINT: the names are long enough
  static const Row table[] = {
      {32, 32, 16, Support::Avx512, x86_avx512_mask_cvttps2dq_512},
      {32, 32, 8, Support::Avx, x86_avx_cvtt_ps2dq_256},
      {32, 32, 4, Support::Sse, x86_sse2_cvttps2dq},
      {32, 32, 1, Support::Sse, x86_sse_cvttss2si},
      {64, 32, 8, Support::Avx512, x86_avx512_mask_cvttpd2dq_512},
      {64, 32, 4, Support::Avx, x86_avx_cvtt_pd2dq_256},
      {64, 32, 2, Support::Sse, x86_sse2_cvttpd2dq},
      {64, 32, 1, Support::Sse, x86_sse2_cvttsd2si},
      {32, 64, 8, Support::Avx512Dq, x86_avx512_mask_cvttps2qq_512},
      {32, 64, 4, Support::Avx512Dq, x86_avx512_mask_cvttps2qq_256},
      {32, 64, 2, Support::Avx512Dq, x86_avx512_mask_cvttps2qq_128},
      {32, 64, 1, Support::Sse, x86_sse_cvttss2si64},
      {64, 64, 8, Support::Avx512Dq, x86_avx512_mask_cvttpd2qq_512},
      {64, 64, 4, Support::Avx512Dq, x86_avx512_mask_cvttpd2qq_256},
      {64, 64, 2, Support::Avx512Dq, x86_avx512_mask_cvttpd2qq_128},
      {64, 64, 1, Support::Sse, x86_sse2_cvttsd2si64},
  };
  return table;
}

/// The first lanes of a vector; lanes behind its end are undefined.
Value* first_lanes(llvm::IRBuilder<>& builder, Value* vector, int lanes, int first = 0) {
  auto count = int(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  if (count == lanes && first == 0) return vector;
  llvm::SmallVector<int, 64> mask;
  for (int i = first; i < first + lanes; ++i) mask.push_back(i < count ? i : llvm::PoisonMaskElem);
  return builder.CreateShuffleVector(vector, mask);
}

/// One instruction on a register; a scalar is its lane 0.
Value* instruction(llvm::IRBuilder<>& builder, llvm::Module& module, const Row& row, Value* value) {
  constexpr uint32_t kCurrentRounding = 4;
  llvm::Function* callee = llvm::Intrinsic::getDeclaration(&module, row.id);
  auto* type = llvm::cast<llvm::FixedVectorType>(callee->getArg(0)->getType());
  Value* operand = row.lanes == 1 ? builder.CreateInsertElement(llvm::PoisonValue::get(type), value, uint64_t{0})
                                  : first_lanes(builder, value, int(type->getNumElements()));
  llvm::SmallVector<Value*, 4> args{operand};
  if (callee->arg_size() > 1) {  // of AVX-512: all lanes, none from elsewhere
    args.push_back(llvm::Constant::getNullValue(callee->getReturnType()));
    args.push_back(llvm::Constant::getAllOnesValue(callee->getArg(2)->getType()));
  }
  if (callee->arg_size() > 3) args.push_back(builder.getInt32(kCurrentRounding));
  Value* out = builder.CreateCall(callee, args);
  return row.lanes == 1 ? out : first_lanes(builder, out, row.lanes);
}

}  // namespace

TruncateSupport truncate_support(const llvm::TargetMachine& target) {
  auto has = [&](const char* feature) { return target.getMCSubtargetInfo()->checkFeatures(feature); };
  if (target.getTargetTriple().getArch() != llvm::Triple::x86_64) return Support::None;
  if (has("+avx512dq") && has("+avx512vl")) return Support::Avx512Dq;
  return has("+avx512f") ? Support::Avx512 : has("+avx") ? Support::Avx : Support::Sse;
}

/// The int32 or int64 of a float32 or float64.
llvm::Value* CodeGen::truncate_to_signed(Value* value, DataType from, DataType to) {
  if (truncate_ == Support::None) {
    // From the least integer on down, and from its opposite on up, it is the answer.
    const double least = -std::ldexp(1.0, to.bits - 1);
    Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    Value* fits = builder_.CreateFCmpOLT(size, llvm::ConstantFP::get(value->getType(), -least));
    Value* safe = builder_.CreateSelect(fits, value, llvm::ConstantFP::get(value->getType(), least));
    return builder_.CreateFPToSI(safe, value_type(to));
  }
  const Row *exact = nullptr, *narrowest = nullptr, *widest = nullptr;  // narrowest: of those that hold all lanes
  for (const Row& row : rows()) {
    if (row.from != from.bits || row.to != to.bits || row.needs > truncate_) continue;
    if (row.lanes == from.lanes) exact = &row;
    if (row.lanes > 1 && !widest) widest = &row;
    if (row.lanes > from.lanes) narrowest = &row;
  }
  if (exact) return instruction(builder_, *module_, *exact, value);
  if (!widest)
    return by_lane(value, [&](Value* lane) { return truncate_to_signed(lane, from.element(), to.element()); });
  if (narrowest) return first_lanes(builder_, instruction(builder_, *module_, *narrowest, value), from.lanes);
  const int rest = from.lanes - widest->lanes;
  Value* low = first_lanes(builder_, value, widest->lanes);
  Value* high = first_lanes(builder_, value, rest, widest->lanes);
  if (rest == 1) high = builder_.CreateExtractElement(high, uint64_t{0});
  high = truncate_to_signed(high, from.with_lanes(rest), to.with_lanes(rest));
  low = instruction(builder_, *module_, *widest, low);
  if (rest > 1) return concat_lanes(low, high);
  return builder_.CreateInsertElement(first_lanes(builder_, low, from.lanes), high, uint64_t(widest->lanes));
}

llvm::Value* CodeGen::truncate(Value* value, DataType from, DataType to) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  if (from.bits == 16) {
    from = from.with_bits(32);
    value = builder_.CreateFPExt(value, value_type(from));
  }
  const bool by_int32 = to.bits < 32 || (to.bits == 32 && to.is_int());
  DataType work = DataType::Int(by_int32 ? 32 : 64, to.lanes);
  Value* out = truncate_to_signed(value, from, work);
  if (to.is_uint() && to.bits == 64) {
    // What begins at 2^63 became the least number: the rest, which then fits, is added to it.
    Value* half = llvm::ConstantFP::get(value->getType(), 0x1p63);
    Value* rest = truncate_to_signed(builder_.CreateFSub(value, half), from, work);
    Value* is_beyond = builder_.CreateAShr(out, llvm::ConstantInt::get(out->getType(), 63));
    out = builder_.CreateOr(out, builder_.CreateAnd(rest, is_beyond));
  }
  return builder_.CreateTrunc(out, value_type(to));
}

}  // namespace tessera::codegen
