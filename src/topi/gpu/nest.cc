#include "topi/gpu/nest.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "tir/attrs.h"

namespace tessera::topi {
namespace {

const DataType kNestIndex = DataType::Int(32);

Stmt with_attr(const char* key, int64_t value, const Stmt& body) {
  return make(AttrStmt{.node = int_imm(kNestIndex, 0), .attr_key = key, .value = number(value), .body = body});
}

}  // namespace

Stmt thread_loop(const char* tag, const PrimExpr& extent, const NestBody& body) {
  Var var = make_var(tag, kNestIndex);
  return make(For{.loop_var = var,
                  .min = 0,
                  .extent = cast(kNestIndex, extent),
                  .kind = LoopKind::ThreadBinding,
                  .body = body(var),
                  .thread_binding = make_iter_var(Range(), make_var(tag, kNestIndex), IterType::ThreadIndex, tag)});
}

Stmt unrolled_loop(const char* name, int64_t extent, const NestBody& body) {
  return loop_over(name, number(extent), body, LoopKind::Unrolled);
}

Stmt keep_unrolled_loops(const Stmt& body) { return with_attr(attr::kPragmaUnrollExplicit, 0, body); }

Stmt with_own_barriers(const Stmt& body) { return with_attr(attr::kOwnBarriers, 1, body); }

Stmt with_min_blocks(int64_t blocks, const Stmt& body) {
  return blocks > 1 ? with_attr(attr::kMinBlocks, blocks, body) : body;
}

Stmt each_lane(int64_t lanes, const NestBody& body) {
  return loop_over("lane", number(lanes), body, LoopKind::Vectorized);
}

Stmt guarded(const PrimExpr& condition, const Stmt& body) {
  if (is_one(condition)) return body;
  return make(IfThenElse{.condition = condition, .then_case = body});
}

Stmt shared_barrier() { return evaluate(make_call(kNestIndex, builtin::tvm_storage_sync(), {string_imm("shared")})); }

Stmt store_to(const Buffer& buffer, const PrimExpr& index, const PrimExpr& value) {
  return make(BufferStore{.buffer = buffer, .value = value, .indices = {index}});
}

PrimExpr load_from(const Buffer& buffer, const PrimExpr& index) { return make_load(buffer, {index}); }

Buffer memory_of(const char* name, DataType dtype, int64_t elements, const char* scope) {
  return decl_buffer({number(elements)}, dtype, name, scope);
}

Stmt all_allocated(const std::vector<Buffer>& buffers, Stmt body) {
  for (size_t i = buffers.size(); i-- > 0;) body = allocated(buffers[i], body);
  return body;
}

PrimExpr combine(const PrimExpr& operation, const PrimExpr& a, const PrimExpr& b) {
  return operation.as<Add>() ? a + b : operation.as<Mul>() ? a * b : operation.as<Min>() ? min(a, b) : max(a, b);
}

Stmt combine_threads(const PrimExpr& operation, const PrimExpr& identity, const Buffer& partial, const Buffer& result,
                     const PrimExpr& thread) {
  const Var a = make_var("a", identity.dtype()), b = make_var("b", identity.dtype());
  const CommReducer combiner = make(
      CommReducerNode{.lhs = {a}, .rhs = {b}, .result = {combine(operation, a, b)}, .identity_element = {identity}});
  PrimExpr call = make_call(
      DataType::Handle(), builtin::tvm_thread_allreduce(),
      {int_imm(DataType::UInt(32), 1), make_load(partial, {0}), bool_imm(true), make_load(result, {0}), thread});
  return make(AttrStmt{.node = combiner, .attr_key = attr::kReduceScope, .value = 0, .body = evaluate(call)});
}

Buffer as_one_dimension(const Buffer& buffer) {
  if (!buffer->strides.empty() || (buffer->elem_offset && !is_zero(buffer->elem_offset))) return nullptr;
  int64_t elements = 1;
  for (const PrimExpr& extent : buffer->shape) {
    const int64_t* value = as_int(extent);
    if (!value || *value < 1 || elements > INT32_MAX / *value) return nullptr;
    elements *= *value;
  }
  BufferNode out = *buffer.get();
  out.shape = {number(elements)};
  return make(std::move(out));
}

std::vector<PrimExpr> digits_of(PrimExpr value, const std::vector<PrimExpr>& extents) {
  std::vector<PrimExpr> out(extents.size());
  size_t first = 0;
  while (first < extents.size() && is_one(extents[first])) out[first++] = number(0);
  for (size_t i = extents.size(); i-- > first;) {
    const PrimExpr extent = cast(kNestIndex, extents[i]);
    if (i == first) {
      out[i] = value;
    } else if (is_one(extent)) {
      out[i] = number(0);
    } else {
      out[i] = floormod(value, extent);
      value = floordiv(value, extent);
    }
  }
  return out;
}

PrimExpr product_of(const std::vector<PrimExpr>& extents) {
  PrimExpr out = number(1);
  for (const PrimExpr& extent : extents) out = out * cast(kNestIndex, extent);
  return out;
}

}  // namespace tessera::topi
