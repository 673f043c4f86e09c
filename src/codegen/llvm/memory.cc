// Loads, stores and allocations. Contiguous vectors are one access; lanes that are read from a few neighbouring vectors
// are those vectors shuffled; any other vector index goes lane by lane.

#include <algorithm>
#include <numeric>

#include "codegen/llvm/codegen.h"
#include "codegen/llvm/lane_offsets.h"
#include "ir/rewrite.h"

namespace tessera::codegen {
namespace {

/// Vectors that are read and shuffled into one; more cost as much as reading lane by lane.
constexpr int64_t kMaxShuffled = 4;

/// A power of two that `e` is certainly a multiple of; 0 for the constant 0.
int64_t known_multiple(const PrimExpr& e) {
  constexpr int64_t kEnough = 1 << 20;  // no alignment is larger
  if (const int64_t* value = as_int(e)) return std::gcd(*value % kEnough, *value ? kEnough : 0);
  if (auto* mul = e.as<Mul>())
    return std::min(kEnough, known_multiple(mul->a)) * std::min(kEnough, known_multiple(mul->b));
  if (auto* add = e.as<Add>()) return std::gcd(known_multiple(add->a), known_multiple(add->b));
  if (auto* sub = e.as<Sub>()) return std::gcd(known_multiple(sub->a), known_multiple(sub->b));
  if (auto* cast = e.as<Cast>()) return known_multiple(cast->value);
  return 1;
}

/// How the lanes of an index lie in memory.
struct Pattern {
  enum Kind { Scalar, Contiguous, Reversed, Same, Any } kind;
  PrimExpr first;  // the index of lane 0, except in Any
};

Pattern pattern_of(const PrimExpr& index) {
  if (index.dtype().lanes == 1) return {Pattern::Scalar, index};
  if (auto* broadcast = index.as<Broadcast>(); broadcast && broadcast->value.dtype().lanes == 1)
    return {Pattern::Same, broadcast->value};
  if (auto* ramp = index.as<Ramp>(); ramp && ramp->base.dtype().lanes == 1) {
    if (is_const_int(ramp->stride, 1)) return {Pattern::Contiguous, ramp->base};
    if (is_const_int(ramp->stride, -1)) return {Pattern::Reversed, ramp->base};
  }
  return {Pattern::Any, index};
}

std::vector<int> reversed_lanes(int lanes) {
  std::vector<int> out;
  for (int lane = lanes - 1; lane >= 0; --lane) out.push_back(lane);
  return out;
}

}  // namespace

llvm::Align CodeGen::alignment(const Buffer& buffer, const PrimExpr& index, int) {
  uint64_t element = uint64_t(buffer->dtype.bytes());
  auto it = alignments_.find(buffer->data.get());
  if (it == alignments_.end()) return llvm::Align(element);
  uint64_t offset = uint64_t(known_multiple(index)) * element * buffer->dtype.lanes;
  uint64_t common = offset == 0 ? it->second : std::gcd(offset, it->second);
  return llvm::Align(std::max<uint64_t>(common & (~common + 1), element));
}

/// Element number `index` (any integer type) behind `base`, counted in scalars of `element` times its lanes.
llvm::Value* CodeGen::pointer_at(Value* base, DataType element, Value* index) {
  if (element.lanes > 1) index = builder_.CreateNSWMul(index, constant_int(64, element.lanes));
  return builder_.CreateInBoundsGEP(memory_type(element), base, index);
}

llvm::Value* CodeGen::element_pointer(const Buffer& buffer, const PrimExpr& index) {
  bool was = std::exchange(in_index_, true);
  Value* at = to_index(emit(index), index.dtype());
  in_index_ = was;
  return pointer_at(visit(buffer->data.get()), buffer->dtype, at);
}

llvm::Value* CodeGen::load(const Buffer& buffer, const PrimExpr& index, DataType dtype) {
  DataType element = buffer->dtype;
  if (dtype.element() != element.element() || dtype.lanes != element.lanes * index.dtype().lanes)
    throw Error(TypeError) << "buffer " << buffer->name << " of " << element << " is read as " << dtype
                           << " with an index of " << index.dtype().lanes << " lanes";
  Pattern pattern = pattern_of(index);
  bool is_volatile = volatile_.count(buffer->data.get()) > 0;
  if (pattern.kind == Pattern::Any ||
      (pattern.kind != Pattern::Contiguous && pattern.kind != Pattern::Scalar && element.lanes > 1)) {
    if (Value* shuffled = element.lanes == 1 && !is_volatile ? load_shuffled(buffer, index, dtype) : nullptr)
      return shuffled;
    bool was = std::exchange(in_index_, true);
    Value* indices = to_index(emit(index), index.dtype());
    in_index_ = was;
    return load_lanes(visit(buffer->data.get()), element, indices, index.dtype().lanes);
  }
  if (pattern.kind == Pattern::Same) return splat(load(buffer, pattern.first, element), dtype.lanes);

  Value* pointer = element_pointer(buffer, pattern.first);
  llvm::Type* type = memory_type(element);
  if (dtype.lanes > 1) type = llvm::FixedVectorType::get(type, dtype.lanes);
  if (pattern.kind == Pattern::Reversed) {
    pointer = builder_.CreateInBoundsGEP(memory_type(element), pointer, constant_int(64, 1 - int64_t(dtype.lanes)));
    Value* value = builder_.CreateAlignedLoad(type, pointer, llvm::Align(uint64_t(element.bytes())), is_volatile);
    return from_memory(builder_.CreateShuffleVector(value, reversed_lanes(dtype.lanes)), dtype);
  }
  return from_memory(
      builder_.CreateAlignedLoad(type, pointer, alignment(buffer, pattern.first, dtype.lanes), is_volatile), dtype);
}

void CodeGen::store(const Buffer& buffer, const PrimExpr& index, Value* value, DataType dtype) {
  DataType element = buffer->dtype;
  if (dtype.element() != element.element() || dtype.lanes != element.lanes * index.dtype().lanes)
    throw Error(TypeError) << "buffer " << buffer->name << " of " << element << " is given " << dtype
                           << " at an index of " << index.dtype().lanes << " lanes";
  Pattern pattern = pattern_of(index);
  bool is_volatile = volatile_.count(buffer->data.get()) > 0;
  value = to_memory(value, dtype);
  if (pattern.kind == Pattern::Scalar || pattern.kind == Pattern::Contiguous) {
    Value* pointer = element_pointer(buffer, pattern.first);
    builder_.CreateAlignedStore(value, pointer, alignment(buffer, pattern.first, dtype.lanes), is_volatile);
    return;
  }
  if (pattern.kind == Pattern::Reversed && element.lanes == 1) {
    Value* pointer = element_pointer(buffer, pattern.first);
    pointer = builder_.CreateInBoundsGEP(memory_type(element), pointer, constant_int(64, 1 - int64_t(dtype.lanes)));
    value = builder_.CreateShuffleVector(value, reversed_lanes(dtype.lanes));
    builder_.CreateAlignedStore(value, pointer, llvm::Align(uint64_t(element.bytes())), is_volatile);
    return;
  }
  bool was = std::exchange(in_index_, true);
  Value* indices = to_index(emit(index), index.dtype());
  in_index_ = was;
  store_lanes(visit(buffer->data.get()), element, indices, value, index.dtype().lanes);
}

/// Remembers an index of vectors: expressions that programs share are variables by now.
void CodeGen::note_lanes(const VarNode* var, const PrimExpr& value) {
  if (var->dtype.lanes == 1 || !var->dtype.is_int()) return;
  known_lanes_.erase(var);
  if (std::optional<LaneOffsets> lanes = lane_offsets(value, known_lanes_)) known_lanes_.emplace(var, *lanes);
}

/// Its variables have values in the function that is being written; one outside of it may have had others.
bool CodeGen::is_defined_here(const PrimExpr& e) {
  bool out = true;
  walk(e, [&](const VarNode* var) { out &= state_.vars.count(var) > 0; });
  return out;
}

/// Where the lanes' distances are known numbers, all between the first and the last that is read is read by vectors.
/// Null where that would be more than a few.
llvm::Value* CodeGen::load_shuffled(const Buffer& buffer, const PrimExpr& index, DataType dtype) {
  std::optional<LaneOffsets> lanes = lane_offsets(index, known_lanes_);
  if (!lanes || !is_defined_here(lanes->base)) return nullptr;
  auto [least, greatest] = std::minmax_element(lanes->offsets.begin(), lanes->offsets.end());
  const int64_t first = *least, span = *greatest - first + 1, count = dtype.lanes;
  const int64_t width = std::min(span, count), loads = (span + width - 1) / width;
  if (loads > kMaxShuffled) return nullptr;
  Value* base = element_pointer(buffer, lanes->base);
  llvm::Type* scalar = memory_type(buffer->dtype);
  llvm::Type* type = llvm::FixedVectorType::get(scalar, unsigned(width));
  Value* out = nullptr;
  std::vector<bool> is_filled(size_t(count), false);
  for (int64_t i = 0; i < loads; ++i) {
    const int64_t start = std::min(i * width, span - width);  // the last one ends with the last element that is read
    std::vector<int> mask(static_cast<size_t>(count));
    bool is_needed = false;
    for (size_t lane = 0; lane < mask.size(); ++lane) {
      const int64_t at = lanes->offsets[lane] - first - start;
      const bool is_mine = !is_filled[lane] && at >= 0 && at < width;
      mask[lane] = is_mine ? int(at) : is_filled[lane] && out ? int(width + int64_t(lane)) : -1;
      if (is_mine) is_filled[lane] = is_needed = true;
    }
    if (!is_needed) continue;
    Value* pointer = builder_.CreateInBoundsGEP(scalar, base, constant_int(64, first + start));
    Value* part = builder_.CreateAlignedLoad(type, pointer, llvm::Align(uint64_t(buffer->dtype.bytes())));
    out = out ? shuffled(part, out, mask) : builder_.CreateShuffleVector(part, mask);
  }
  return from_memory(out, dtype);
}

llvm::Value* CodeGen::load_lanes(Value* base, DataType element, Value* indices, int lanes) {
  llvm::Type* scalar = memory_type(element);
  Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(scalar, unsigned(lanes * element.lanes)));
  for (int lane = 0; lane < lanes; ++lane) {
    Value* pointer = pointer_at(base, element, builder_.CreateExtractElement(indices, uint64_t(lane)));
    for (int part = 0; part < element.lanes; ++part) {
      Value* at = part ? builder_.CreateConstInBoundsGEP1_64(scalar, pointer, uint64_t(part)) : pointer;
      Value* item = builder_.CreateAlignedLoad(scalar, at, llvm::Align(uint64_t(element.bytes())));
      out = builder_.CreateInsertElement(out, item, uint64_t(lane) * element.lanes + uint64_t(part));
    }
  }
  return from_memory(out, element.with_lanes(lanes * element.lanes));
}

/// `value` is in its memory form already. Where two lanes write the same element the higher lane stays.
void CodeGen::store_lanes(Value* base, DataType element, Value* indices, Value* value, int lanes) {
  llvm::Type* scalar = memory_type(element);
  for (int lane = 0; lane < lanes; ++lane) {
    Value* pointer = pointer_at(base, element, builder_.CreateExtractElement(indices, uint64_t(lane)));
    for (int part = 0; part < element.lanes; ++part) {
      Value* at = part ? builder_.CreateConstInBoundsGEP1_64(scalar, pointer, uint64_t(part)) : pointer;
      Value* item = builder_.CreateExtractElement(value, uint64_t(lane) * element.lanes + uint64_t(part));
      builder_.CreateAlignedStore(item, at, llvm::Align(uint64_t(element.bytes())));
    }
  }
}

/// Allocations stand at the entry of the function: they happen once, and SROA can turn them into registers.
llvm::Value* CodeGen::entry_alloca(llvm::Type* type, Value* count, uint64_t align, const std::string& name) {
  llvm::IRBuilder<>::InsertPointGuard guard(builder_);
  llvm::BasicBlock& entry = state_.function->getEntryBlock();
  builder_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  llvm::AllocaInst* out = builder_.CreateAlloca(type, count, name);
  out->setAlignment(llvm::Align(align));
  return out->getAddressSpace() == 0 ? static_cast<Value*>(out) : builder_.CreateAddrSpaceCast(out, ptr_);
}

}  // namespace tessera::codegen
