// Changes of type that keep the value, and of meaning that keep the bits.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

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
  DataType single = DataType::Float(32, to.lanes), wide = DataType::Float(64, to.lanes);
  if (is_kept_as_bits(from)) return cast(widen(value, from), single, to);
  // What float32 would round already goes by way of float64, so that it is rounded once.
  bool is_narrow = to.is_floating() && to.bits == 16;
  if (is_narrow && from.is_integral() && from.bits >= 32) return cast(cast(value, from, wide), wide, to);
  if (is_narrow && from == wide) return cast(round_to_odd(value, from), single, to);
  if (is_kept_as_bits(to)) return narrow(cast(value, from, single), to);
  if (to.is_bool()) {
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    return from.is_float() ? builder_.CreateFCmpUNE(value, zero) : builder_.CreateICmpNE(value, zero);
  }
  if (from.is_integral() && to.is_integral())
    return from.is_int() ? builder_.CreateSExtOrTrunc(value, type) : builder_.CreateZExtOrTrunc(value, type);
  if (from.is_float() && to.is_float()) return builder_.CreateFPCast(value, type);
  if (from.is_integral())
    return from.is_int() ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  return truncate(value, from, to);
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
