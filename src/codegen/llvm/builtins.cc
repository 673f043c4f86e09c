// Builtin operators that become an instruction or a few.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

DataType unsigned_of(DataType dtype) { return DataType::UInt(dtype.bits, dtype.lanes); }

}  // namespace

llvm::Value* CodeGen::bitwise(const Call* op) {
  Values args = emit_args(op);
  DataType dtype = op->args[0].dtype();
  if (!dtype.is_integral()) throw Error(TypeError) << "bits of " << dtype << " in " << PrimExpr(op);
  if (is_call(op, "tir.bitwise_not")) return builder_.CreateNot(args[0]);
  if (is_call(op, "tir.bitwise_and")) return builder_.CreateAnd(args[0], args[1]);
  if (is_call(op, "tir.bitwise_or")) return builder_.CreateOr(args[0], args[1]);
  return builder_.CreateXor(args[0], args[1]);
}

/// Shifts by the width of the type or more are unspecified but harmless: the count is taken modulo the width.
llvm::Value* CodeGen::shift(const Call* op) {
  DataType dtype = op->args[0].dtype();
  Value* value = emit(op->args[0]);
  Value* count = cast(emit(op->args[1]), op->args[1].dtype(), unsigned_of(dtype));
  if ((dtype.bits & (dtype.bits - 1)) == 0)
    count = builder_.CreateAnd(count, llvm::ConstantInt::get(count->getType(), dtype.bits - 1u));
  if (is_call(op, "tir.shift_left")) return builder_.CreateShl(value, count);
  return dtype.is_int() ? builder_.CreateAShr(value, count) : builder_.CreateLShr(value, count);
}

llvm::Value* CodeGen::large_uint(const Call* op) {
  const int64_t *low = as_int(op->args[0]), *high = as_int(op->args[1]);
  if (!low || !high) throw Error(TypeError) << "large_uint_imm of something other than two constants";
  uint64_t value = (uint64_t(*high) << 32) | (uint64_t(*low) & 0xffffffffu);
  return llvm::ConstantInt::get(value_type(op->dtype), value);
}

llvm::Value* CodeGen::if_then_else(const Call* op) {
  Value* holds = emit_bool(op->args[0]);
  auto *then_block = new_block("then"), *else_block = new_block("else"), *end = new_block("chosen");
  builder_.CreateCondBr(holds, then_block, else_block,
                        is_call(op->args[0], "tir.likely") ? metadata_.createBranchWeights(1 << 20, 1) : nullptr);
  start_block(then_block);
  Value* on_true = emit(op->args[1]);
  then_block = builder_.GetInsertBlock();
  builder_.CreateBr(end);
  start_block(else_block);
  Value* on_false = emit(op->args[2]);
  else_block = builder_.GetInsertBlock();
  builder_.CreateBr(end);
  start_block(end);
  if (op->dtype.is_void()) return constant_int(32, 0);
  llvm::PHINode* out = builder_.CreatePHI(on_true->getType(), 2);
  out->addIncoming(on_true, then_block);
  out->addIncoming(on_false, else_block);
  return out;
}

llvm::Value* CodeGen::reinterpret_call(const Call* op) {
  return reinterpret(emit(op->args[0]), op->args[0].dtype(), op->dtype);
}

llvm::Value* CodeGen::rounded_to_bfloat(const Call* op) {
  return narrow(emit(op->args[0]), DataType::BFloat(16, op->dtype.lanes));
}

llvm::Value* CodeGen::is_nan(const Call* op) {
  DataType dtype = op->args[0].dtype();
  Value* value = emit(op->args[0]);
  if (dtype.is_integral()) return llvm::Constant::getNullValue(value_type(DataType::Bool(dtype.lanes)));
  if (is_kept_as_bits(dtype)) value = widen(value, dtype);
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  builder_.clearFastMathFlags();
  return builder_.CreateFCmpUNO(value, value);
}

llvm::Value* CodeGen::is_null(const Call* op) { return builder_.CreateIsNull(emit(op->args[0])); }

llvm::Value* CodeGen::pass_through(const Call* op) { return emit(op->args[0]); }

/// One thread at a time runs this code; there is nobody to wait for.
llvm::Value* CodeGen::storage_sync(const Call*) { return constant_int(32, 0); }

llvm::Value* CodeGen::warp_call(const Call* op) {
  throw Error(ValueError) << PrimExpr(op) << " in code for the host; warps exist only in kernels of a GPU";
}

/// `change` of each lane of a vector, or of a scalar.
llvm::Value* CodeGen::by_lane(Value* value, const std::function<Value*(Value*)>& change) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (!vector) return change(value);
  Value* out = nullptr;
  for (uint64_t lane = 0; lane < vector->getNumElements(); ++lane) {
    Value* changed = change(builder_.CreateExtractElement(value, lane));
    if (!out) out = llvm::PoisonValue::get(llvm::FixedVectorType::get(changed->getType(), vector->getNumElements()));
    out = builder_.CreateInsertElement(out, changed, lane);
  }
  return out;
}

llvm::Value* CodeGen::no_value(const Call*) { return constant_int(32, 0); }

llvm::Value* CodeGen::undefined(const Call* op) {
  return builder_.CreateFreeze(llvm::PoisonValue::get(value_type(op->dtype)));
}

llvm::Value* CodeGen::address_of(const Call* op) {
  auto* load = op->args[0].as<BufferLoad>();
  if (!load || load->indices.size() != 1)
    throw Error(TypeError) << "address_of takes an element of a flat buffer, not " << op->args[0];
  PrimExpr index = load->indices[0];
  if (auto* ramp = index.as<Ramp>()) index = ramp->base;
  return element_pointer(load->buffer, index);
}

/// Arguments: an example of the element type, the pointer, an offset in elements, an extent, and a mask of uses.
llvm::Value* CodeGen::access_ptr(const Call* op) {
  Value* base = emit(op->args[1]);
  Value* offset = to_index(emit(op->args[2]), op->args[2].dtype());
  return pointer_at(base, op->args[0].dtype(), offset);
}

/// Arguments: an address, 1 for writing, nearness 0..3, 1 for data.
llvm::Value* CodeGen::prefetch(const Call* op) {
  Values args = emit_args(op);
  while (args.size() < 4) args.push_back(constant_int(32, args.size() == 1 ? 0 : args.size() == 2 ? 3 : 1));
  for (size_t i = 1; i < 4; ++i) args[i] = builder_.CreateSExtOrTrunc(args[i], i32_);
  ++impure_;
  builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ptr_}, args);
  return constant_int(32, 0);
}

llvm::Value* CodeGen::atomic_add(const Call* op) {
  Value* pointer = emit(op->args[0]);
  Value* value = emit(op->args[1]);
  DataType dtype = op->args[1].dtype();
  if (dtype.lanes != 1 || is_kept_as_bits(dtype) || dtype.is_bool())
    throw Error(TypeError) << "atomic_add of " << dtype << "; it takes integers and floats, one at a time";
  ++impure_;
  return builder_.CreateAtomicRMW(dtype.is_float() ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add, pointer,
                                  value, llvm::MaybeAlign(uint64_t(dtype.bytes())), llvm::AtomicOrdering::Monotonic);
}

llvm::Value* CodeGen::vector_part(const Call* op) {
  Value* value = emit(op->args[0]);
  int lanes = op->args[0].dtype().lanes;
  std::vector<int> mask;
  if (is_call(op, "tir.vectorcombine")) {
    Value* second = emit(op->args[1]);
    for (int lane = 0; lane < 2 * lanes; ++lane) mask.push_back(lane);
    if (lanes > 1) return builder_.CreateShuffleVector(value, second, mask);
    Value* out = llvm::PoisonValue::get(value_type(op->dtype));
    return builder_.CreateInsertElement(builder_.CreateInsertElement(out, value, uint64_t(0)), second, uint64_t(1));
  }
  if (lanes % 2) throw Error(TypeError) << "half of a vector of " << lanes << " lanes";
  int first = is_call(op, "tir.vectorhigh") ? lanes / 2 : 0;
  if (lanes == 2) return builder_.CreateExtractElement(value, uint64_t(first));
  for (int lane = 0; lane < lanes / 2; ++lane) mask.push_back(first + lane);
  return builder_.CreateShuffleVector(value, mask);
}

llvm::Value* CodeGen::count_bits(const Call* op) {
  DataType dtype = op->args[0].dtype();
  Value* value = emit(op->args[0]);
  if (!dtype.is_integral()) throw Error(TypeError) << "bits of " << dtype << " in " << PrimExpr(op);
  Value* out = is_call(op, "tir.popcount")
                   ? builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, value)
                   : builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, value, builder_.getFalse());
  return cast(out, unsigned_of(dtype), op->dtype);
}

/// round(x * y * 2^(s - q)), half upwards: x times a fixed-point number with q fractional bits, then shifted by s.
llvm::Value* CodeGen::q_multiply_shift(const Call* op) {
  if (op->args.size() != 4) throw Error(TypeError) << "q_multiply_shift takes x, y, q and s";
  DataType wide = DataType::Int(64, op->dtype.lanes);
  Values args;
  for (const PrimExpr& arg : op->args) args.push_back(cast(emit(arg), arg.dtype(), wide));
  auto* zero = llvm::Constant::getNullValue(args[0]->getType());
  auto* one = llvm::ConstantInt::get(args[0]->getType(), 1);
  Value *x = args[0], *y = args[1], *q = args[2], *s = args[3];
  Value* is_left = builder_.CreateICmpSGT(s, zero);
  Value* left = builder_.CreateSelect(is_left, s, zero);
  Value* right = builder_.CreateAdd(q, builder_.CreateSelect(is_left, zero, builder_.CreateNeg(s)));
  Value* product = builder_.CreateMul(builder_.CreateShl(x, left), y);
  Value* half = builder_.CreateShl(one, builder_.CreateSub(right, one));
  return cast(builder_.CreateAShr(builder_.CreateAdd(product, half), right), wide, op->dtype);
}

}  // namespace tessera::codegen
