// Loads and stores under a mask of lanes: what becomes of a guarded vector loop.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

/// masked_load(address_of(buffer[ramp]), mask, otherwise): lanes whose mask is false touch no memory.
llvm::Value* CodeGen::masked_load(const Call* op) {
  if (op->args.size() != 3) throw Error(TypeError) << "masked_load takes an address, a mask and a value";
  Value* pointer = emit(op->args[0]);
  Value* mask = emit(op->args[1]);
  Value* otherwise = to_memory(emit(op->args[2]), op->dtype);
  Value* value = builder_.CreateMaskedLoad(otherwise->getType(), pointer, llvm::Align(uint64_t(op->dtype.bytes())),
                                           mask, otherwise);
  return from_memory(value, op->dtype);
}

/// masked_store(address_of(buffer[ramp]), value, mask).
llvm::Value* CodeGen::masked_store(const Call* op) {
  if (op->args.size() != 3) throw Error(TypeError) << "masked_store takes an address, a value and a mask";
  Value* pointer = emit(op->args[0]);
  DataType dtype = op->args[1].dtype();
  Value* value = to_memory(emit(op->args[1]), dtype);
  Value* mask = emit(op->args[2]);
  ++impure_;
  builder_.CreateMaskedStore(value, pointer, llvm::Align(uint64_t(dtype.bytes())), mask);
  return constant_int(32, 0);
}

}  // namespace tessera::codegen
