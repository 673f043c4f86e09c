// Shuffles of two vectors. LLVM lowers any of them well but on SVE, where those that no single instruction does would go
// through memory, lane by lane.

#include <llvm/IR/IntrinsicsAArch64.h>

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

using Mask = llvm::ArrayRef<int>;
constexpr unsigned kSveBlockBits = 128;  // vectors of SVE are a multiple of it

/// True where lane i comes from lane from(i) of both vectors in a row, for each lane that counts.
template <class F>
bool is_made_by(Mask mask, F from) {
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i] >= 0 && mask[i] != int(from(i))) return false;
  return true;
}

bool is_zip(Mask mask, size_t lanes, size_t half) {
  return is_made_by(mask, [&](size_t i) { return i / 2 + i % 2 * lanes + half * (lanes / 2); });
}

/// One instruction of SVE does it, as LLVM knows: uzp, trn or ext; or one vector is all it reads.
bool is_one_instruction(Mask mask, size_t lanes) {
  for (size_t half : {size_t(0), size_t(1)}) {
    if (is_made_by(mask, [&](size_t i) { return 2 * i + half; })) return true;                      // uzp
    if (is_made_by(mask, [&](size_t i) { return i - i % 2 + i % 2 * lanes + half; })) return true;  // trn
  }
  if (mask[0] >= 0 && is_made_by(mask, [&](size_t i) { return size_t(mask[0]) + i; })) return true;  // ext
  return llvm::ShuffleVectorInst::isSingleSourceMask(mask, int(lanes));
}

}  // namespace

/// The type by which SVE's own instructions know vectors that fill a register; any other type is itself.
llvm::Type* CodeGen::scalable_type(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector || vector->getPrimitiveSizeInBits() != unsigned(machine_.sve_bits)) return type;
  return llvm::ScalableVectorType::get(vector->getElementType(), kSveBlockBits / vector->getScalarSizeInBits());
}

llvm::Value* CodeGen::to_scalable(Value* vector) {
  llvm::Type* type = scalable_type(vector->getType());
  if (type == vector->getType()) return vector;
  return builder_.CreateInsertVector(type, llvm::PoisonValue::get(type), vector, builder_.getInt64(0));
}

/// The lanes of `a` and then of `b` that `mask` names. On SVE a zip is said to be one, or LLVM would merge it with a
/// store to what writes two vectors in turns, which is slower. In other cases each vector is looked up in a table of
/// its own, in which a lane of the other is out of range and gives zero, and the two are or-ed.
llvm::Value* CodeGen::shuffled(Value* a, Value* b, Mask mask) {
  auto* type = llvm::cast<llvm::FixedVectorType>(a->getType());
  llvm::Type* element = type->getElementType();
  const unsigned lanes = type->getNumElements(), bits = element->getScalarSizeInBits();
  const bool is_whole = machine_.sve_bits > int(kSveBlockBits) && lanes * bits == unsigned(machine_.sve_bits) &&
                        mask.size() == lanes && bits >= 8 && lanes < 256;
  if (!is_whole || is_one_instruction(mask, lanes)) return builder_.CreateShuffleVector(a, b, mask);

  llvm::Type* whole = scalable_type(type);
  llvm::Type* whole_bits = llvm::ScalableVectorType::get(builder_.getIntNTy(bits), kSveBlockBits / bits);
  auto fixed = [&](Value* vector) { return builder_.CreateExtractVector(type, vector, builder_.getInt64(0)); };
  for (size_t half : {size_t(0), size_t(1)})
    if (is_zip(mask, lanes, half))
      return fixed(
          builder_.CreateIntrinsic(half ? llvm::Intrinsic::aarch64_sve_zip2 : llvm::Intrinsic::aarch64_sve_zip1,
                                   {whole}, {to_scalable(a), to_scalable(b)}));
  auto looked_up = [&](Value* vector, unsigned first) -> Value* {
    std::vector<llvm::Constant*> indices;
    for (int lane : mask) {
      const bool is_mine = lane >= int(first) && lane < int(first + lanes);
      indices.push_back(llvm::ConstantInt::get(builder_.getIntNTy(bits), is_mine ? uint64_t(lane) - first : ~0ULL));
    }
    Value* table = to_scalable(llvm::ConstantVector::get(indices));
    Value* found = builder_.CreateIntrinsic(llvm::Intrinsic::aarch64_sve_tbl, {whole}, {to_scalable(vector), table});
    return builder_.CreateBitCast(found, whole_bits);
  };
  Value* merged = builder_.CreateOr(looked_up(a, 0), looked_up(b, lanes));
  return fixed(builder_.CreateBitCast(merged, whole));
}

}  // namespace tessera::codegen
