// How TIR's machine types look in LLVM: in registers and in memory.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

llvm::Type* CodeGen::value_type(DataType dtype) {
  if (dtype.is_void()) return builder_.getVoidTy();
  llvm::Type* out = nullptr;
  if (dtype.code == DataType::kHandle) {
    out = ptr_;
  } else if (dtype.is_integral() && dtype.bits >= 1 && dtype.bits <= 64) {
    out = builder_.getIntNTy(dtype.bits);
  } else if (dtype.bits == 16 && is_kept_as_bits(dtype)) {
    out = builder_.getInt16Ty();
  } else if (dtype.is_float()) {
    if (dtype.bits == 16) out = builder_.getHalfTy();
    if (dtype.bits == 32) out = builder_.getFloatTy();
    if (dtype.bits == 64) out = builder_.getDoubleTy();
  }
  if (!out || dtype.lanes == 0) throw Error(TypeError) << "no LLVM type stands for " << dtype;
  return dtype.lanes == 1 ? out : llvm::FixedVectorType::get(out, dtype.lanes);
}

llvm::Type* CodeGen::memory_type(DataType dtype) {
  DataType element = dtype.element();
  if (element.is_integral()) {
    if (element.bits < 8) return i8_;
    if (element.bits & (element.bits - 1))
      throw Error(TypeError) << "a buffer of " << dtype << ": elements take 8, 16, 32 or 64 bits, or less than 8";
  }
  return value_type(element);
}

llvm::FunctionType* CodeGen::function_type(const PrimFunc& function) {
  std::vector<llvm::Type*> params;
  for (const Var& param : function->params) params.push_back(value_type(param->dtype));
  DataType ret = function->ret_type ? runtime_dtype(function->ret_type) : DataType::Void();
  return llvm::FunctionType::get(ret.is_void() ? i32_ : value_type(ret), params, false);
}

llvm::Value* CodeGen::from_memory(Value* value, DataType dtype) {
  if (!dtype.is_integral() || dtype.bits >= 8) return value;
  if (dtype.is_bool()) return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  return builder_.CreateTrunc(value, value_type(dtype.with_lanes(dtype.lanes)));
}

llvm::Value* CodeGen::to_memory(Value* value, DataType dtype) {
  if (!dtype.is_integral() || dtype.bits >= 8) return value;
  llvm::Type* type = dtype.lanes == 1 ? static_cast<llvm::Type*>(i8_) : llvm::FixedVectorType::get(i8_, dtype.lanes);
  return dtype.is_int() ? builder_.CreateSExt(value, type) : builder_.CreateZExt(value, type);
}

llvm::Value* CodeGen::splat(Value* scalar, int lanes) {
  return lanes == 1 ? scalar : builder_.CreateVectorSplat(unsigned(lanes), scalar);
}

}  // namespace tessera::codegen
