// Expressions other than operators and calls, and the table that finds the right function for a node.

#include "base/stack.h"
#include "codegen/dispatch.h"
#include "codegen/llvm/codegen.h"

namespace tessera::codegen {

llvm::Value* CodeGen::dispatch(const PrimExprNode* e) {
  return visit_lowered<Value*>(LoweredExpressions(), e, "machine code", [this]<class Node>(const Node* node) {
    if constexpr (std::derived_from<Node, BinaryNode>) return binary(node);
    else return visit(node);
  });
}

/// Parts that occur more than once in a statement are computed once, as long as no branch lies between.
llvm::Value* CodeGen::emit(const PrimExpr& e) {
  ICHECK(e.defined()) << "an expression is missing";
  bool is_shared = e->use_count() > 1 && !e.as<VarNode>();
  auto& known = known_[in_index_];
  if (is_shared) {
    auto it = known.find(e.get());
    if (it != known.end() && it->second.block == builder_.GetInsertBlock()) return it->second.value;
  }
  uint64_t impure_before = impure_;
  Value* out = on_enough_stack([&] { return dispatch(e.get()); });
  if (is_shared && impure_ == impure_before && out) known[e.get()] = {out, builder_.GetInsertBlock(), e};
  return out;
}

llvm::Value* CodeGen::emit_bool(const PrimExpr& condition) {
  if (condition.dtype().lanes != 1)
    throw Error(TypeError) << "a condition decides one way or the other, but it is a vector of "
                           << condition.dtype().lanes << " lanes: " << condition;
  return cast(emit(condition), condition.dtype(), DataType::Bool());
}

llvm::Value* CodeGen::visit(const VarNode* op) {
  if (auto read = state_.reads.find(op); read != state_.reads.end()) return emit(read->second);
  auto it = state_.vars.find(op);
  if (it == state_.vars.end()) throw Error(ValueError) << "variable " << op->name << " is used where it has no value";
  return it->second;
}

llvm::Value* CodeGen::visit(const IntImm* op) {
  if (op->dtype.is_handle()) return builder_.CreateIntToPtr(constant_int(64, op->value), ptr_);
  return llvm::ConstantInt::get(value_type(op->dtype), uint64_t(op->value), op->dtype.is_int());
}

llvm::Value* CodeGen::visit(const FloatImm* op) {
  if (is_kept_as_bits(op->dtype)) {
    DataType wide = DataType::Float(64);
    return cast(llvm::ConstantFP::get(value_type(wide), op->value), wide, op->dtype);
  }
  return llvm::ConstantFP::get(value_type(op->dtype), op->value);
}

llvm::Value* CodeGen::visit(const StringImm* op) { return string_constant(op->value.str()); }

llvm::Value* CodeGen::visit(const Cast* op) { return cast(emit(op->value), op->value.dtype(), op->dtype); }

llvm::Value* CodeGen::visit(const Not* op) { return builder_.CreateNot(emit(op->a)); }

llvm::Value* CodeGen::visit(const Select* op) {
  Value* condition = emit(op->condition);
  Value* on_true = emit(op->true_value);
  Value* on_false = emit(op->false_value);
  return builder_.CreateSelect(condition, on_true, on_false);
}

llvm::Value* CodeGen::visit(const Ramp* op) {
  int lanes = op->lanes;
  Value* base = emit(op->base);
  Value* stride = emit(op->stride);
  if (base->getType()->isVectorTy())
    throw Error(NotImplementedError) << "a Ramp whose base is a vector: " << PrimExpr(op);
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes; ++lane) steps.push_back(llvm::ConstantInt::get(base->getType(), uint64_t(lane)));
  Value* offsets = llvm::ConstantVector::get(steps);
  bool no_wrap = in_index_ && op->base.dtype().is_int() && op->base.dtype().bits >= 32;
  offsets = builder_.CreateMul(offsets, splat(stride, lanes), "", false, no_wrap);
  return builder_.CreateAdd(splat(base, lanes), offsets, "", false, no_wrap);
}

llvm::Value* CodeGen::visit(const Broadcast* op) {
  Value* value = emit(op->value);
  int inner = op->value.dtype().lanes;
  if (inner == 1) return splat(value, op->lanes);
  std::vector<int> mask;
  for (int lane = 0; lane < op->lanes * inner; ++lane) mask.push_back(lane % inner);
  return builder_.CreateShuffleVector(value, mask);
}

llvm::Value* CodeGen::visit(const Shuffle* op) {
  std::vector<Value*> vectors;
  int64_t count = 0;
  for (const PrimExpr& vector : op->vectors) {
    Value* value = emit(vector);
    const int lanes = vector.dtype().lanes;
    vectors.push_back(
        lanes == 1 ? builder_.CreateInsertElement(
                         llvm::PoisonValue::get(llvm::FixedVectorType::get(value->getType(), 1)), value, uint64_t(0))
                   : value);
    count += lanes;
  }
  std::vector<int> mask;
  for (const PrimExpr& index : op->indices) {
    const int64_t* at = as_int(index);
    if (!at || *at < 0 || *at >= count)
      throw Error(ValueError) << "a Shuffle picks lane " << index << " of " << count
                              << "; lanes are picked by constants in range";
    mask.push_back(int(*at));
  }
  auto lanes_of = [](Value* vector) {
    return int(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  };
  // two vectors are shuffled at once; of more, neighbours are concatenated first
  while (vectors.size() > 2 || (vectors.size() == 2 && lanes_of(vectors[0]) != lanes_of(vectors[1]))) {
    std::vector<Value*> concatenated;
    for (size_t i = 0; i < vectors.size(); i += 2)
      concatenated.push_back(i + 1 < vectors.size() ? concat_lanes(vectors[i], vectors[i + 1]) : vectors[i]);
    vectors = std::move(concatenated);
  }
  Value* out =
      vectors.size() == 2 ? shuffled(vectors[0], vectors[1], mask) : builder_.CreateShuffleVector(vectors[0], mask);
  return op->indices.size() == 1 ? builder_.CreateExtractElement(out, uint64_t(0)) : out;
}

/// The lanes of `a`, then those of `b`.
llvm::Value* CodeGen::concat_lanes(Value* a, Value* b) {
  auto count = [](Value* vector) {
    return int(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  };
  const int first = count(a), second = count(b), wide = std::max(first, second);
  auto widened = [&](Value* vector, int lanes) {
    if (lanes == wide) return vector;
    std::vector<int> mask;
    for (int i = 0; i < wide; ++i) mask.push_back(i < lanes ? i : -1);
    return builder_.CreateShuffleVector(vector, mask);
  };
  std::vector<int> mask;
  for (int i = 0; i < first + second; ++i) mask.push_back(i < first ? i : wide + i - first);
  return builder_.CreateShuffleVector(widened(a, first), widened(b, second), mask);
}

llvm::Value* CodeGen::visit(const Let* op) {
  Value* value = emit(op->value);
  auto it = state_.vars.find(op->var.get());
  if (it != state_.vars.end() && it->second != value)  // what was computed with the old value is void
    for (auto& known : known_) known.clear();
  define_variable(op->var.get(), value);
  note_lanes(op->var.get(), op->value);
  return emit(op->body);
}

llvm::Value* CodeGen::visit(const BufferLoad* op) {
  if (op->indices.size() != 1)
    throw Error(ValueError) << "buffer " << op->buffer->name << " is read with " << op->indices.size()
                            << " indices; buffers are flat when code is generated";
  return load(op->buffer, op->indices[0], op->dtype);
}

}  // namespace tessera::codegen
