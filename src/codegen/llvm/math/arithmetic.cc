// The binary operators.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

/// A constant divisor other than 0 and -1.
bool never_traps(llvm::Value* divisor) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(divisor);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return number && !number->isZero() && !number->isMinusOne();
}

}  // namespace

template <class Node>
llvm::Value* CodeGen::binary(const Node* op) {
  DataType dtype = op->a.dtype();
  Value* a = emit(op->a);
  Value* b = emit(op->b);
  if (a->getType() != b->getType())
    throw Error(TypeError) << op->type_key() << " of " << dtype << " and " << op->b.dtype()
                           << ": operands have one type";
  constexpr bool is_comparison = std::is_same_v<Node, EQ> || std::is_same_v<Node, NE> || std::is_same_v<Node, LT> ||
                                 std::is_same_v<Node, LE> || std::is_same_v<Node, GT> || std::is_same_v<Node, GE>;
  if (dtype.is_handle()) {
    if constexpr (is_comparison) return compare(&Node::info, DataType::UInt(64), a, b);
    throw Error(TypeError) << op->type_key() << " of handles";
  }
  if (is_kept_as_bits(dtype)) {
    a = widen(a, dtype);
    b = widen(b, dtype);
    DataType wide = DataType::Float(32, dtype.lanes);
    if constexpr (is_comparison) return compare(&Node::info, wide, a, b);
    return narrow(arithmetic(&Node::info, wide, a, b), dtype);
  }
  if constexpr (is_comparison) return compare(&Node::info, dtype, a, b);
  return arithmetic(&Node::info, dtype, a, b);
}

template llvm::Value* CodeGen::binary(const Add*);
template llvm::Value* CodeGen::binary(const Sub*);
template llvm::Value* CodeGen::binary(const Mul*);
template llvm::Value* CodeGen::binary(const Div*);
template llvm::Value* CodeGen::binary(const Mod*);
template llvm::Value* CodeGen::binary(const FloorDiv*);
template llvm::Value* CodeGen::binary(const FloorMod*);
template llvm::Value* CodeGen::binary(const Min*);
template llvm::Value* CodeGen::binary(const Max*);
template llvm::Value* CodeGen::binary(const EQ*);
template llvm::Value* CodeGen::binary(const NE*);
template llvm::Value* CodeGen::binary(const LT*);
template llvm::Value* CodeGen::binary(const LE*);
template llvm::Value* CodeGen::binary(const GT*);
template llvm::Value* CodeGen::binary(const GE*);
template llvm::Value* CodeGen::binary(const And*);
template llvm::Value* CodeGen::binary(const Or*);

llvm::Value* CodeGen::compare(const NodeInfo* op, DataType dtype, Value* a, Value* b) {
  using Predicate = llvm::CmpInst::Predicate;
  struct Row {
    const NodeInfo* op;
    Predicate of_signed, of_unsigned, of_float;
  };
  static const Row rows[] = {
      {&EQ::info, Predicate::ICMP_EQ, Predicate::ICMP_EQ, Predicate::FCMP_OEQ},
      {&NE::info, Predicate::ICMP_NE, Predicate::ICMP_NE, Predicate::FCMP_UNE},
      {&LT::info, Predicate::ICMP_SLT, Predicate::ICMP_ULT, Predicate::FCMP_OLT},
      {&LE::info, Predicate::ICMP_SLE, Predicate::ICMP_ULE, Predicate::FCMP_OLE},
      {&GT::info, Predicate::ICMP_SGT, Predicate::ICMP_UGT, Predicate::FCMP_OGT},
      {&GE::info, Predicate::ICMP_SGE, Predicate::ICMP_UGE, Predicate::FCMP_OGE},
  };
  for (const Row& row : rows) {
    if (row.op != op) continue;
    if (dtype.is_float()) return builder_.CreateFCmp(row.of_float, a, b);
    return builder_.CreateICmp(dtype.is_int() ? row.of_signed : row.of_unsigned, a, b);
  }
  ICHECK(false) << op->key << " is not a comparison";
  return nullptr;
}

llvm::Value* CodeGen::arithmetic(const NodeInfo* op, DataType dtype, Value* a, Value* b) {
  bool is_float = dtype.is_float();
  bool no_wrap = in_index_ && dtype.is_int() && dtype.bits >= 32;
  if (op == &Add::info) return is_float ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b, "", false, no_wrap);
  if (op == &Sub::info) return is_float ? builder_.CreateFSub(a, b) : builder_.CreateSub(a, b, "", false, no_wrap);
  if (op == &Mul::info) return is_float ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b, "", false, no_wrap);
  if (op == &Min::info || op == &Max::info) return extremum(op == &Min::info, dtype, a, b);
  if (op == &And::info) return builder_.CreateAnd(a, b);
  if (op == &Or::info) return builder_.CreateOr(a, b);
  if (!is_float) return integer_division(op, dtype, a, b);
  if (op == &Div::info) return builder_.CreateFDiv(a, b);
  if (op == &Mod::info) return scalar_math_call("fmod", dtype, {a, b}, {dtype, dtype});
  Value* quotient = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, builder_.CreateFDiv(a, b));
  if (op == &FloorDiv::info) return quotient;
  ICHECK(op == &FloorMod::info) << op->key << " has no arithmetic on floats";
  return builder_.CreateFSub(a, builder_.CreateFMul(quotient, b));
}

llvm::Value* CodeGen::integer_division(const NodeInfo* op, DataType dtype, Value* a, Value* b) {
  bool gives_quotient = op == &Div::info || op == &FloorDiv::info;
  bool floors = op == &FloorDiv::info || op == &FloorMod::info;
  ICHECK(gives_quotient || op == &Mod::info || op == &FloorMod::info) << op->key << " has no arithmetic on integers";
  llvm::Type* type = a->getType();
  llvm::Constant* one = llvm::ConstantInt::get(type, 1);
  auto* zero = llvm::Constant::getNullValue(type);
  if (!never_traps(b)) {
    // Both sides of a Select may run, so a division that the program guards must not trap.
    Value* traps = builder_.CreateICmpEQ(b, zero);
    if (dtype.is_int()) {
      auto* least = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(dtype.bits));
      auto* minus_one = llvm::Constant::getAllOnesValue(type);
      traps = builder_.CreateOr(
          traps, builder_.CreateAnd(builder_.CreateICmpEQ(a, least), builder_.CreateICmpEQ(b, minus_one)));
    }
    b = builder_.CreateSelect(traps, one, b);
  }
  if (dtype.is_uint()) return gives_quotient ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
  Value* quotient = gives_quotient ? builder_.CreateSDiv(a, b) : nullptr;
  if (!floors) return gives_quotient ? quotient : builder_.CreateSRem(a, b);
  // Truncation and floor differ where the remainder is not 0 and has another sign than b.
  Value* remainder = builder_.CreateSRem(a, b);
  Value* differs = builder_.CreateAnd(builder_.CreateICmpNE(remainder, zero),
                                      builder_.CreateICmpSLT(builder_.CreateXor(remainder, b), zero));
  if (gives_quotient) return builder_.CreateSelect(differs, builder_.CreateSub(quotient, one), quotient);
  return builder_.CreateSelect(differs, builder_.CreateAdd(remainder, b), remainder);
}

}  // namespace tessera::codegen
