// Indices from data. One that is outside takes a cold path: it becomes 0, the first one is reported to the runtime, and the
// function goes on to its end, where it gives the error back. So memory that it allocated is freed, and tasks of a parallel
// region do not wait for one that is gone.
//
//   at = index < 0 ? index + extent : index
//   if (unlikely(any lane: unsigned(at) >= extent)) { failed = index_error(where, index, extent);  at = bad lanes ? 0 : at }

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

llvm::Value* CodeGen::checked_index(const Call* op) {
  auto* where = op->args[2].as<StringImm>();
  if (!where) throw Error(TypeError) << "checked_index takes a text as its third argument, not " << op->args[2];
  bool was = std::exchange(in_index_, false);  // a value from data may be anything
  Value* index = emit(op->args[0]);
  Value* extent = emit(op->args[1]);
  in_index_ = was;
  Value* zero = llvm::Constant::getNullValue(index->getType());
  Value* is_negative = builder_.CreateICmpSLT(index, zero);
  Value* at = builder_.CreateSelect(is_negative, builder_.CreateAdd(index, extent), index);
  Value* is_bad = builder_.CreateICmpUGE(at, extent);
  Value* any = is_bad->getType()->isVectorTy() ? builder_.CreateOrReduce(is_bad) : is_bad;
  auto *before = builder_.GetInsertBlock(), *bad = new_block("bad_index"), *checked = new_block("checked_index");
  builder_.CreateCondBr(any, bad, checked, metadata_.createBranchWeights(1, 1 << 20));
  start_block(bad);
  Value* safe = builder_.CreateSelect(is_bad, zero, at);
  report_index(where->value.str(), is_bad, index, extent);
  llvm::BasicBlock* reported = builder_.GetInsertBlock();
  builder_.CreateBr(checked);
  start_block(checked);
  llvm::PHINode* out = builder_.CreatePHI(at->getType(), 2, "at");
  out->addIncoming(at, before);
  out->addIncoming(safe, reported);
  return out;
}

std::pair<llvm::Value*, llvm::Value*> CodeGen::first_bad(Value* is_bad, Value* index, Value* extent) {
  if (auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(index->getType())) {
    auto* bits = builder_.getIntNTy(lanes->getNumElements());
    Value* lane = builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {bits},
                                           {builder_.CreateBitCast(is_bad, bits), builder_.getFalse()});
    lane = builder_.CreateZExtOrTrunc(lane, i64_);
    index = builder_.CreateExtractElement(index, lane);
    extent = builder_.CreateExtractElement(extent, lane);
  }
  return {builder_.CreateSExt(index, i64_), builder_.CreateSExt(extent, i64_)};
}

void CodeGen::report_index(const std::string& where, Value* is_bad, Value* index, Value* extent) {
  if (state_.function->getReturnType() != i32_)
    throw Error(ValueError) << "an index is checked in a function that cannot fail: it gives no status back";
  if (!state_.failed) {
    state_.failed = llvm::cast<llvm::AllocaInst>(entry_alloca(i32_, nullptr, 4, "failed"));
    llvm::IRBuilder<> entry(state_.failed->getParent(), std::next(state_.failed->getIterator()));
    entry.CreateStore(constant_int(32, 0), state_.failed);
  }
  auto *first = new_block("first_bad_index"), *done = new_block("bad_index_reported");
  Value* is_first = builder_.CreateICmpEQ(builder_.CreateLoad(i32_, state_.failed), constant_int(32, 0));
  builder_.CreateCondBr(is_first, first, done);
  start_block(first);
  auto [bad_index, bound] = first_bad(is_bad, index, extent);
  builder_.CreateStore(builder_.CreateCall(index_error_function(), {string_constant(where), bad_index, bound}),
                       state_.failed);
  builder_.CreateBr(done);
  start_block(done);
}

/// i32 (where, index, extent): calls runtime.IndexError, which throws, and gives the status of the call.
llvm::Function* CodeGen::index_error_function() {
  constexpr const char* kName = "tessera.index_error";
  if (llvm::Function* known = module_->getFunction(kName)) return known;
  auto* type = llvm::FunctionType::get(i32_, {ptr_, i64_, i64_}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, kName, module_.get());
  prepare_function(function);
  for (auto attribute : {llvm::Attribute::NoInline, llvm::Attribute::Cold, llvm::Attribute::WillReturn})
    function->addFnAttr(attribute);
  // It touches nothing that the program can see, so that what the program loads may stay in registers around it.
  function->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  FunctionState inner;
  inner.function = function;
  std::swap(state_, inner);
  start_block(new_block("entry"));
  constexpr unsigned kArguments = 3;
  Value* values = entry_alloca(llvm::ArrayType::get(i64_, kArguments + 1), nullptr, 8, "values");
  Value* codes = entry_alloca(llvm::ArrayType::get(i32_, kArguments + 1), nullptr, 4, "codes");
  constexpr int kCodes[kArguments] = {kTesseraStr, kTesseraInt, kTesseraInt};
  for (unsigned i = 0; i < kArguments; ++i) {
    builder_.CreateStore(function->getArg(i), builder_.CreateConstInBoundsGEP1_64(i64_, values, i));
    builder_.CreateStore(constant_int(32, kCodes[i]), builder_.CreateConstInBoundsGEP1_64(i32_, codes, i));
  }
  Value* handle = packed_handle("runtime.IndexError");
  Value* status = call_runtime("TVMFuncCall", {handle, values, codes, constant_int(32, kArguments),
                                               builder_.CreateConstInBoundsGEP1_64(i64_, values, kArguments),
                                               builder_.CreateConstInBoundsGEP1_64(i32_, codes, kArguments)});
  builder_.CreateRet(status);
  std::swap(state_, inner);
  return function;
}

llvm::Value* CodeGen::status_at_end() {
  if (!state_.failed) return llvm::Constant::getNullValue(state_.function->getReturnType());
  return builder_.CreateLoad(i32_, state_.failed);
}

}  // namespace tessera::codegen
