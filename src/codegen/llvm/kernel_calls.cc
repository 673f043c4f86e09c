// What kernels call: functions of numbers, for which a GPU has no C library, and the threads of a warp.

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/llvm/kernels.h"

namespace tessera::codegen {

llvm::Value* KernelCodeGen::scalar_math_call(const std::string& name, DataType dtype, const Values& args,
                                             const std::vector<DataType>&) {
  if (name == "fmod" && dtype.bits >= 32) return builder_.CreateFRem(args[0], args[1]);
  throw Error(NotImplementedError) << name << " of " << dtype << " on " << machine_.text
                                   << ": there is no instruction for it, and a GPU has no C library. "
                                   << "Compute it in float32, or write it with exp, log and the like";
}

/// The polynomial holds for |x| < 2^20; beyond, float32 takes the instruction, whose error grows with x.
llvm::Value* KernelCodeGen::trigonometric(Value* x, DataType dtype, Angle function) {
  if (dtype.bits == 64)
    throw Error(NotImplementedError) << (function == Angle::Cosine    ? "cos"
                                         : function == Angle::Tangent ? "tan"
                                                                      : "sin")
                                     << " of float64 on " << machine_.text << "; compute it in float32";
  Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* is_small = builder_.CreateFCmpOLT(size, llvm::ConstantFP::get(x->getType(), double(1 << 20)));
  auto large = [&](bool is_cosine) -> Value* {
    auto id = is_cosine ? llvm::Intrinsic::nvvm_cos_approx_f : llvm::Intrinsic::nvvm_sin_approx_f;
    if (is_nvptx()) return by_lane(x, [&](Value* lane) { return builder_.CreateIntrinsic(id, {}, {lane}); });
    return builder_.CreateUnaryIntrinsic(is_cosine ? llvm::Intrinsic::cos : llvm::Intrinsic::sin, x);
  };
  Value* otherwise =
      function == Angle::Tangent ? builder_.CreateFDiv(large(false), large(true)) : large(function == Angle::Cosine);
  return builder_.CreateSelect(is_small, small_angle(x, dtype, function), otherwise);
}

/// A value of 32 bits (or of each half of 64) as an integer, changed, and back.
llvm::Value* KernelCodeGen::on_words(Value* value, const std::function<Value*(Value*)>& change) {
  llvm::Type* type = value->getType();
  unsigned bits = type->getPrimitiveSizeInBits();
  if (bits < 32) {
    Value* wide = builder_.CreateZExt(builder_.CreateBitCast(value, builder_.getIntNTy(bits)), i32_);
    return builder_.CreateBitCast(builder_.CreateTrunc(change(wide), builder_.getIntNTy(bits)), type);
  }
  auto* words = llvm::FixedVectorType::get(i32_, bits / 32);
  Value* out = by_lane(builder_.CreateBitCast(value, words), change);
  return builder_.CreateBitCast(out, type);
}

/// Arguments: mask, value, lane or distance, width, size of a warp.
llvm::Value* KernelCodeGen::warp_call(const Call* op) {
  std::string name = op->op.as<OpNode>()->name.str().substr(sizeof("tir.") - 1);
  ++impure_;
  if (name == "tvm_warp_activemask") {
    if (!is_nvptx()) return llvm::Constant::getNullValue(value_type(op->dtype));  // its shuffles take no mask
    auto* type = llvm::FunctionType::get(i32_, false);
    Value* mask = builder_.CreateCall(llvm::InlineAsm::get(type, "activemask.b32 $0;", "=r", /*hasSideEffects=*/true));
    return cast(mask, DataType::UInt(32), op->dtype);
  }
  Values args = emit_args(op);
  if (args.size() != 5) throw Error(TypeError) << name << " takes mask, value, lane, width and warp size";
  return is_nvptx() ? shuffle_nvptx(name, args) : shuffle_amdgpu(name, args);
}

llvm::Value* KernelCodeGen::shuffle_nvptx(const std::string& name, const Values& args) {
  bool goes_up = name == "tvm_warp_shuffle_up", goes_down = name == "tvm_warp_shuffle_down";
  auto id = goes_up     ? llvm::Intrinsic::nvvm_shfl_sync_up_i32
            : goes_down ? llvm::Intrinsic::nvvm_shfl_sync_down_i32
                        : llvm::Intrinsic::nvvm_shfl_sync_idx_i32;
  // The lowest (up) or highest lane that may be read, and above it which bits of the lane stay as they are.
  Value* fixed = builder_.CreateShl(
      builder_.CreateSub(constant_int(32, 32), builder_.CreateIntCast(args[3], i32_, true)), constant_int(32, 8));
  Value* bounds = goes_up ? fixed : builder_.CreateOr(fixed, constant_int(32, 31));
  Value* mask = builder_.CreateIntCast(args[0], i32_, false);
  Value* lane = builder_.CreateIntCast(args[2], i32_, true);
  return on_words(args[1], [&](Value* word) { return builder_.CreateIntrinsic(id, {}, {mask, word, lane, bounds}); });
}

llvm::Value* KernelCodeGen::shuffle_amdgpu(const std::string& name, const Values& args) {
  Value* minus_one = constant_int(32, -1);
  Value* self = builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_lo, {}, {minus_one, constant_int(32, 0)});
  self = builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_mbcnt_hi, {}, {minus_one, self});
  Value* width = builder_.CreateIntCast(args[3], i32_, true);
  Value* by = builder_.CreateIntCast(args[2], i32_, true);
  Value* first = builder_.CreateAnd(self, builder_.CreateNeg(width));  // of the group of `width` threads
  Value* lane = builder_.CreateAdd(first, builder_.CreateAnd(by, builder_.CreateSub(width, constant_int(32, 1))));
  if (name != "tvm_warp_shuffle") {
    bool goes_up = name == "tvm_warp_shuffle_up";
    Value* other = goes_up ? builder_.CreateSub(self, by) : builder_.CreateAdd(self, by);
    Value* is_inside = goes_up ? builder_.CreateICmpSGE(other, first)
                               : builder_.CreateICmpSLT(other, builder_.CreateAdd(first, width));
    lane = builder_.CreateSelect(is_inside, other, self);  // a thread outside of the group is not read
  }
  Value* address = builder_.CreateShl(lane, constant_int(32, 2));
  return on_words(args[1], [&](Value* word) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::amdgcn_ds_bpermute, {}, {address, word});
  });
}

}  // namespace tessera::codegen
