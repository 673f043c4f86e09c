// The packed calling convention: fields of DLTensor and value slots, and calls of functions found by name.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

/// v0.10's numbers for the fields that tvm_struct_get and tvm_struct_set name.
enum FieldNumber {
  kArrAddr = 0,
  kArrData = 1,
  kArrShape = 2,
  kArrStrides = 3,
  kArrNDim = 4,
  kArrTypeCode = 5,
  kArrTypeBits = 6,
  kArrTypeLanes = 7,
  kArrByteOffset = 8,
  kArrDeviceId = 9,
  kArrDeviceType = 10,
  kValueContent = 12,
};

struct TensorField {
  int number;
  unsigned member;  // of tensor_type()
  DataType dtype;
};

constexpr TensorField kTensorFields[] = {
    {kArrData, 0, DataType::Handle()},      {kArrDeviceType, 1, DataType::Int(32)},
    {kArrDeviceId, 2, DataType::Int(32)},   {kArrNDim, 3, DataType::Int(32)},
    {kArrTypeCode, 4, DataType::UInt(8)},   {kArrTypeBits, 5, DataType::UInt(8)},
    {kArrTypeLanes, 6, DataType::UInt(16)}, {kArrShape, 7, DataType::Handle()},
    {kArrStrides, 8, DataType::Handle()},   {kArrByteOffset, 9, DataType::UInt(64)},
};

int64_t constant_argument(const Call* op, size_t i) {
  const int64_t* value = as_int(op->args[i]);
  if (!value) throw Error(TypeError) << "argument " << i << " of " << PrimExpr(op) << " is not a constant";
  return *value;
}

/// The slot type for a value: integers travel as int64, floats as double.
DataType slot_dtype(DataType dtype) {
  if (dtype.is_handle()) return dtype;
  return dtype.is_floating() ? DataType::Float(64) : DataType::Int(64);
}

}  // namespace

/// DLTensor as the machine that runs the code has it: pointers take four bytes or eight.
llvm::StructType* CodeGen::tensor_type() {
  llvm::Type *i8 = i8_, *i16 = builder_.getInt16Ty(), *i32 = i32_, *i64 = i64_;
  return llvm::StructType::get(context_, {ptr_, i32, i32, i32, i8, i8, i16, ptr_, ptr_, i64});
}

/// The address of a field of element `index` of the array at `handle`; `type` becomes the field's.
llvm::Value* CodeGen::struct_field(Value* handle, const PrimExpr& index, int kind, DataType* type) {
  Value* at = to_index(emit(index), index.dtype());
  if (kind == kValueContent) return builder_.CreateInBoundsGEP(i64_, handle, at);
  Value* tensor = builder_.CreateInBoundsGEP(tensor_type(), handle, at);
  for (const TensorField& field : kTensorFields) {
    if (field.number != kind) continue;
    *type = field.dtype;
    return builder_.CreateStructGEP(tensor_type(), tensor, field.member);
  }
  if (kind != kArrAddr) throw Error(ValueError) << "tvm_struct_get: no field has number " << kind;
  *type = DataType::Void();
  return tensor;
}

llvm::Value* CodeGen::struct_get(const Call* op) {
  DataType type = slot_dtype(op->dtype);
  Value* pointer = struct_field(emit(op->args[0]), op->args[1], static_cast<int>(constant_argument(op, 2)), &type);
  if (type.is_void()) return pointer;
  return cast(builder_.CreateLoad(value_type(type), pointer), type, op->dtype);
}

llvm::Value* CodeGen::struct_set(const Call* op) {
  DataType given = op->args[3].dtype(), type = slot_dtype(given);
  Value* value = emit(op->args[3]);
  Value* pointer = struct_field(emit(op->args[0]), op->args[1], static_cast<int>(constant_argument(op, 2)), &type);
  if (type.is_void()) throw Error(ValueError) << "tvm_struct_set: the address of a tensor cannot be set";
  ++impure_;
  builder_.CreateStore(cast(value, given, type), pointer);
  return constant_int(32, 0);
}

llvm::Value* CodeGen::stack_alloca(const Call* op) {
  auto* kind = op->args[0].as<StringImm>();
  int64_t count = constant_argument(op, 1);
  std::string_view what = kind ? std::string_view(kind->value) : "";
  uint64_t tensor_bytes = module_->getDataLayout().getTypeAllocSize(tensor_type());
  uint64_t bytes = what == "arg_tcode" ? 4 : what == "array" ? tensor_bytes : 8;
  if (what != "shape" && what != "arg_value" && what != "arg_tcode" && what != "array")
    throw Error(ValueError) << "tvm_stack_alloca of " << op->args[0]
                            << "; it may be shape, arg_value, arg_tcode or array";
  auto* type = llvm::ArrayType::get(i8_, bytes * uint64_t(std::max<int64_t>(count, 1)));
  ++impure_;
  return entry_alloca(type, nullptr, 8, "stack_" + std::string(what));
}

/// The function called `name`, looked up once per module and kept.
llvm::Value* CodeGen::packed_handle(const std::string& name) {
  llvm::GlobalVariable*& cache = packed_handles_[name];
  if (!cache) {
    cache = new llvm::GlobalVariable(*module_, ptr_, false, llvm::GlobalValue::InternalLinkage,
                                     llvm::Constant::getNullValue(ptr_), "packed." + name);
    cache->setAlignment(llvm::Align(8));
  }
  // Two threads may both find it empty; they store the same handle.
  auto* cached = builder_.CreateLoad(ptr_, cache);
  cached->setAtomic(llvm::AtomicOrdering::Monotonic);
  cached->setAlignment(llvm::Align(8));
  auto *before = builder_.GetInsertBlock(), *missing = new_block("find_function"), *found = new_block("function_found");
  builder_.CreateCondBr(builder_.CreateIsNotNull(cached), found, missing, metadata_.createBranchWeights(1 << 20, 1));
  start_block(missing);
  Value* out = entry_alloca(ptr_, nullptr, 8, "found");
  check_status(
      call_runtime("TVMBackendGetFuncFromEnv", {runtime_pointer("__tvm_module_ctx"), string_constant(name), out}));
  Value* fresh = builder_.CreateLoad(ptr_, out);
  auto* keep = builder_.CreateStore(fresh, cache);
  keep->setAtomic(llvm::AtomicOrdering::Monotonic);
  keep->setAlignment(llvm::Align(8));
  llvm::BasicBlock* done = builder_.GetInsertBlock();
  builder_.CreateBr(found);
  start_block(found);
  llvm::PHINode* handle = builder_.CreatePHI(ptr_, 2, "handle");
  handle->addIncoming(cached, before);
  handle->addIncoming(fresh, done);
  return handle;
}

/// Arguments: name, stack of values, stack of type codes, first and last slot (and, by address, a resource handle).
/// The answer is left in the slot after the arguments.
CodeGen::PackedCall CodeGen::call_packed_lowered(const Call* op, bool by_name) {
  if (op->args.size() < 5) throw Error(TypeError) << "a lowered packed call has five arguments: " << PrimExpr(op);
  auto* name = op->args[0].as<StringImm>();
  if (!name) throw Error(TypeError) << "the function of a packed call is given by name, not by " << op->args[0];
  Value* values = emit(op->args[1]);
  Value* codes = emit(op->args[2]);
  int64_t begin = constant_argument(op, 3), end = constant_argument(op, 4);
  auto slot = [&](int64_t i) { return builder_.CreateConstInBoundsGEP1_64(i64_, values, uint64_t(i)); };
  auto code = [&](int64_t i) { return builder_.CreateConstInBoundsGEP1_64(i32_, codes, uint64_t(i)); };
  PackedCall out{slot(end), code(end), end};
  Value* count = constant_int(32, end - begin);
  ++impure_;
  if (by_name) {
    Value* handle = packed_handle(name->value.str());
    check_status(call_runtime("TVMFuncCall", {handle, slot(begin), code(begin), count, out.ret_value, out.ret_code}));
    return out;
  }
  auto* type = llvm::FunctionType::get(i32_, {ptr_, ptr_, i32_, ptr_, ptr_, ptr_}, false);
  Value* resource =
      op->args.size() > 5 && op->args[5].dtype().is_handle() ? emit(op->args[5]) : llvm::Constant::getNullValue(ptr_);
  llvm::FunctionCallee callee = module_->getOrInsertFunction(name->value.str(), type);
  check_status(builder_.CreateCall(callee, {slot(begin), code(begin), count, out.ret_value, out.ret_code, resource}));
  return out;
}

llvm::Value* CodeGen::call_packed(const Call* op) {
  PackedCall call = call_packed_lowered(op, true);
  if (op->dtype.is_void()) return constant_int(32, 0);
  DataType slot = slot_dtype(op->dtype);
  return cast(builder_.CreateLoad(value_type(slot), call.ret_value), slot, op->dtype);
}

llvm::Value* CodeGen::call_c_packed(const Call* op) {
  PackedCall call = call_packed_lowered(op, false);
  if (op->dtype.is_void()) return constant_int(32, 0);
  DataType slot = slot_dtype(op->dtype);
  return cast(builder_.CreateLoad(value_type(slot), call.ret_value), slot, op->dtype);
}

/// A trace function that gives nothing back leaves the traced value (the last argument) as it is.
llvm::Value* CodeGen::call_trace_packed(const Call* op) {
  if (op->args.size() < 6) throw Error(TypeError) << "a lowered trace call has six arguments: " << PrimExpr(op);
  Value* traced = emit(op->args[5]);
  PackedCall call = call_packed_lowered(op, true);
  DataType slot = slot_dtype(op->dtype);
  Value* answer = cast(builder_.CreateLoad(value_type(slot), call.ret_value), slot, op->dtype);
  Value* is_null = builder_.CreateICmpEQ(builder_.CreateLoad(i32_, call.ret_code), constant_int(32, kTesseraNull));
  return builder_.CreateSelect(is_null, traced, answer);
}

llvm::Value* CodeGen::throw_last_error(const Call*) {
  return_failure(constant_int(32, -1));
  start_block(new_block("unreachable"));
  return constant_int(32, -1);
}

llvm::Value* CodeGen::static_handle(const Call*) {
  return new llvm::GlobalVariable(*module_, ptr_, false, llvm::GlobalValue::PrivateLinkage,
                                  llvm::Constant::getNullValue(ptr_), "static_handle");
}

}  // namespace tessera::codegen
