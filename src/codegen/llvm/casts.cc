// Changes of type that keep the value, and of meaning that keep the bits.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

llvm::Type* like(llvm::Type* shape, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

llvm::Constant* ones(llvm::Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }

}  // namespace

llvm::Value* CodeGen::bfloat_to_float(Value* value) {
  llvm::Type* wide = like(value->getType(), i32_);
  value = builder_.CreateShl(builder_.CreateZExt(value, wide), ones(wide, 16));
  return builder_.CreateBitCast(value, like(wide, builder_.getFloatTy()));
}

llvm::Value* CodeGen::float_to_bfloat(Value* value) {
  llvm::Type* wide = like(value->getType(), i32_);
  llvm::Type* narrow = like(wide, builder_.getInt16Ty());
  Value* bits = builder_.CreateBitCast(value, wide);
  // Round to nearest even by adding just under half, and one more where the kept part is odd.
  Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, ones(wide, 16)), ones(wide, 1));
  Value* rounded = builder_.CreateAdd(builder_.CreateAdd(bits, odd), ones(wide, 0x7fff));
  Value* quiet = builder_.CreateOr(bits, ones(wide, 0x400000));  // a NaN must not round to infinity
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  bits = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, rounded);
  return builder_.CreateTrunc(builder_.CreateLShr(bits, ones(wide, 16)), narrow);
}

/// Rounding twice, to float and then to half, may miss by one; rounding to odd first does not. (LLVM would call a
/// function of the C compiler's run-time library that an exported file may not find.)
llvm::Value* CodeGen::double_to_half(Value* value, DataType from) {
  llvm::Type* single = value_type(from.with_bits(32));
  llvm::Type* wide = like(single, i32_);
  Value* near = builder_.CreateFPTrunc(value, single);
  Value* back = builder_.CreateFPExt(near, value->getType());
  Value* bits = builder_.CreateBitCast(near, wide);
  Value* exact = builder_.CreateFCmpUEQ(back, value);
  Value* is_odd = builder_.CreateTrunc(bits, like(wide, i1_));
  Value* magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  Value* too_small = builder_.CreateFCmpOLT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back), magnitude);
  Value* moved = builder_.CreateSelect(too_small, builder_.CreateAdd(bits, ones(wide, 1)),
                                       builder_.CreateSub(bits, ones(wide, 1)));
  bits = builder_.CreateSelect(builder_.CreateOr(exact, is_odd), bits, moved);
  return builder_.CreateFPTrunc(builder_.CreateBitCast(bits, single), value_type(from.with_bits(16)));
}

llvm::Value* CodeGen::cast(Value* value, DataType from, DataType to) {
  if (from == to) return value;
  if (from.lanes != to.lanes) {
    if (from.lanes != 1) throw Error(TypeError) << "cast of " << from << " to " << to << " changes the number of lanes";
    return splat(cast(value, from, to.element()), to.lanes);
  }
  llvm::Type* type = value_type(to);
  if (to.is_handle() || from.is_handle()) {
    if (from.is_handle() && to.is_handle()) return value;
    if (from.is_integral()) return builder_.CreateIntToPtr(value, type);
    if (to.is_bool()) return builder_.CreateIsNotNull(value);
    if (to.is_integral()) return builder_.CreatePtrToInt(value, type);
    throw Error(TypeError) << "no cast of " << from << " to " << to;
  }
  if (from.is_bfloat()) return cast(bfloat_to_float(value), DataType::Float(32, from.lanes), to);
  if (to.is_bfloat()) return float_to_bfloat(cast(value, from, DataType::Float(32, to.lanes)));
  if (to.is_bool()) {
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    return from.is_float() ? builder_.CreateFCmpUNE(value, zero) : builder_.CreateICmpNE(value, zero);
  }
  if (from.is_integral() && to.is_integral())
    return from.is_int() ? builder_.CreateSExtOrTrunc(value, type) : builder_.CreateZExtOrTrunc(value, type);
  if (from.is_float() && to.is_float()) {
    if (from.bits == 64 && to.bits == 16) return double_to_half(value, from);
    return builder_.CreateFPCast(value, type);
  }
  if (from.is_integral()) {
    if (to.bits == 16 && from.bits >= 32) {  // exact in double wherever half does not overflow
      DataType middle = DataType::Float(64, to.lanes);
      return cast(cast(value, from, middle), middle, to);
    }
    return from.is_int() ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  }
  Value* out = to.is_int() ? builder_.CreateFPToSI(value, type) : builder_.CreateFPToUI(value, type);
  return builder_.CreateFreeze(out);
}

llvm::Value* CodeGen::reinterpret(Value* value, DataType from, DataType to) {
  llvm::Type* type = value_type(to);
  if (value->getType() == type) return value;
  if (from.is_handle() && to.is_handle()) return value;
  if (from.is_handle()) return builder_.CreatePtrToInt(value, type);
  if (to.is_handle()) return builder_.CreateIntToPtr(value, type);
  if (from.bits * from.lanes != to.bits * to.lanes)
    throw Error(TypeError) << "reinterpret of " << from << " as " << to << ": they do not have the same number of bits";
  return builder_.CreateBitCast(value, type);
}

llvm::Value* CodeGen::to_index(Value* value, DataType dtype) {
  return cast(value, dtype, DataType::Int(64, dtype.lanes));
}

}  // namespace tessera::codegen
