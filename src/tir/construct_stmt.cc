// Checked constructors of statements and functions.

#include "ir/prim/ops.h"
#include "runtime/registry.h"
#include "tir/construct.h"

namespace tessera {
namespace {

template <class R>
const R& need(const R& part, const char* node, const char* name) {
  if (!part.defined()) throw Error(ValueError) << node << ": its " << name << " is missing (None)";
  return part;
}

/// A condition; a plain number stands for a boolean constant.
PrimExpr need_bool(const PrimExpr& part, const char* node, const char* name) {
  need(part, node, name);
  if (auto* value = as_int(part)) return bool_imm(*value != 0);
  if (!part.dtype().is_bool())
    throw Error(RuntimeError) << node << ": its " << name << " must be a bool, but " << part << " is " << part.dtype();
  return part;
}

PrimExpr promoted_bound(const PrimExpr& e, DataType dtype) {
  auto* literal = e.as<IntImm>();
  return literal && literal->dtype.bits < dtype.bits && dtype.is_int() ? cast(dtype, e) : e;
}

Map<String, ObjectRef> or_empty(const Map<String, ObjectRef>& annotations) {
  return annotations.defined() ? annotations : Map<String, ObjectRef>();
}

void check_extents(const char* node, const Array<PrimExpr>& extents) {
  for (const PrimExpr& extent : extents)
    if (!extent || !extent.dtype().is_scalar())
      throw Error(RuntimeError) << node << ": an extent is a scalar, not " << extent;
}

void check_pointer(const char* node, const Var& var) {
  need(var, node, "buffer_var");
  if (!var->type_annotation.as<PointerType>())
    throw Error(RuntimeError) << node << ": " << var->name << " must be of a PointerType, but it is " << var->dtype;
}

}  // namespace

Stmt checked_for(Var loop_var, PrimExpr min, PrimExpr extent, LoopKind kind, Stmt body, IterVar thread_binding,
                 Map<String, ObjectRef> annotations) {
  need(loop_var, "For", "loop_var");
  min = promoted_bound(need(min, "For", "min"), loop_var->dtype);
  extent = promoted_bound(need(extent, "For", "extent"), loop_var->dtype);
  need(body, "For", "body");
  if (kind < LoopKind::Serial || kind > LoopKind::ThreadBinding)
    throw Error(ValueError) << "For " << loop_var->name << ": there is no loop kind " << static_cast<int>(kind)
                            << "; the kinds are 0 to 4 (serial, parallel, vectorized, unrolled, thread_binding)";
  for (DataType dtype : {loop_var->dtype, min.dtype(), extent.dtype()})
    if (!dtype.is_scalar() || !dtype.is_integral())
      throw Error(RuntimeError) << "For " << loop_var->name << ": loops count in scalar integers, not in " << dtype;
  if (kind == LoopKind::ThreadBinding && !thread_binding)
    throw Error(RuntimeError) << "For " << loop_var->name << ": a loop bound to a thread needs its thread_binding";
  For node;
  node.loop_var = std::move(loop_var);
  node.min = std::move(min);
  node.extent = std::move(extent);
  node.kind = kind;
  node.body = std::move(body);
  node.thread_binding = std::move(thread_binding);
  node.annotations = or_empty(annotations);
  return make(std::move(node));
}

Stmt checked_allocate(Var buffer_var, DataType dtype, Array<PrimExpr> extents, PrimExpr condition, Stmt body,
                      Map<String, ObjectRef> annotations) {
  check_pointer("Allocate", buffer_var);
  check_extents("Allocate", extents);
  condition = need_bool(condition, "Allocate", "condition");
  need(body, "Allocate", "body");
  Allocate node;
  node.buffer_var = std::move(buffer_var);
  node.dtype = dtype;
  node.extents = std::move(extents);
  node.condition = std::move(condition);
  node.body = std::move(body);
  node.annotations = or_empty(annotations);
  return make(std::move(node));
}

namespace {

Stmt checked_block(Array<IterVar> iter_vars, Array<BufferRegion> reads, Array<BufferRegion> writes, String name_hint,
                   Stmt body, Stmt init, Array<Buffer> alloc_buffers, Array<MatchBufferRegion> match_buffers,
                   Map<String, ObjectRef> annotations) {
  BlockNode node;
  node.iter_vars = std::move(iter_vars);
  node.reads = std::move(reads);
  node.writes = std::move(writes);
  node.name_hint = std::move(name_hint);
  node.body = need(body, "Block", "body");
  node.init = std::move(init);
  node.alloc_buffers = alloc_buffers.defined() ? std::move(alloc_buffers) : Array<Buffer>();
  node.match_buffers = match_buffers.defined() ? std::move(match_buffers) : Array<MatchBufferRegion>();
  node.annotations = or_empty(annotations);
  return make(std::move(node));
}

Stmt checked_block_realize(Array<PrimExpr> iter_values, PrimExpr predicate, Block block) {
  need(block, "BlockRealize", "block");
  predicate = need_bool(predicate, "BlockRealize", "predicate");
  if (iter_values.size() != block->iter_vars.size())
    throw Error(RuntimeError) << "BlockRealize: block \"" << block->name_hint << "\" has " << block->iter_vars.size()
                              << " iter_vars, but " << iter_values.size() << " iter_values were given";
  return make(BlockRealize{.iter_values = iter_values, .predicate = predicate, .block = block});
}

Stmt checked_let(Var var, PrimExpr value, Stmt body) {
  need(var, "LetStmt", "var");
  need(value, "LetStmt", "value");
  bool is_pointer = var->dtype.is_handle() && value.dtype().is_handle();
  if (value.dtype() != var->dtype && !is_pointer)
    throw Error(RuntimeError) << "LetStmt: " << var->name << " is " << var->dtype << ", its value is " << value.dtype();
  return make(LetStmt{.var = var, .value = value, .body = need(body, "LetStmt", "body")});
}

Stmt checked_assert(PrimExpr condition, PrimExpr message, Stmt body) {
  condition = need_bool(condition, "AssertStmt", "condition");
  need(message, "AssertStmt", "message");
  if (message.dtype() != DataType::Int(32) && !message.as<StringImm>())
    throw Error(RuntimeError) << "AssertStmt: its message is a string or an int32, not " << message;
  return make(AssertStmt{.condition = condition, .message = message, .body = need(body, "AssertStmt", "body")});
}

Stmt checked_allocate_const(Var buffer_var, DataType dtype, Array<PrimExpr> extents, const AnyView& data_or_index,
                            Stmt body, Map<String, ObjectRef> annotations) {
  check_pointer("AllocateConst", buffer_var);
  check_extents("AllocateConst", extents);
  AllocateConst node;
  node.buffer_var = std::move(buffer_var);
  node.dtype = dtype;
  node.extents = std::move(extents);
  node.body = need(body, "AllocateConst", "body");
  node.annotations = or_empty(annotations);
  if (data_or_index.code() == kTesseraNDArray) {
    node.data = ObjectRef(data_or_index.object());
  } else {
    node.irmod_storage_idx = data_or_index.to<PrimExpr>();
  }
  return make(std::move(node));
}

Stmt with_span(Stmt stmt, const Span& span) {
  if (span) stmt.edit()->span = span;
  return stmt;
}

Globals construct_stmt_globals{
    {"tir.LetStmt",
     [](Var var, PrimExpr value, Stmt body, Span span) { return with_span(checked_let(var, value, body), span); }},
    {"tir.AttrStmt",
     [](AnyView node, String key, AnyView value, Stmt body, Span span) {
       if (value.code() == kTesseraStr)
         throw Error(RuntimeError) << "AttrStmt \"" << key
                                   << "\": its value is an expression, not a str; write StringImm("
                                   << quoted(value.to<std::string>()) << ")";
       return with_span(make(AttrStmt{.node = box(node),
                                      .attr_key = key,
                                      .value = need(value.to<PrimExpr>(), "AttrStmt", "value"),
                                      .body = need(body, "AttrStmt", "body")}),
                        span);
     }},
    {"tir.AssertStmt", [](PrimExpr condition, PrimExpr message, Stmt body,
                          Span span) { return with_span(checked_assert(condition, message, body), span); }},
    {"tir.BufferStore", [](Buffer buffer, PrimExpr value, Array<PrimExpr> indices,
                           Span span) { return with_span(checked_store(buffer, value, indices), span); }},
    {"tir.BufferRealize",
     [](Buffer buffer, Array<Range> bounds, PrimExpr condition, Stmt body, Span span) {
       return with_span(make(BufferRealize{.buffer = need(buffer, "BufferRealize", "buffer"),
                                           .bounds = bounds,
                                           .condition = need_bool(condition, "BufferRealize", "condition"),
                                           .body = need(body, "BufferRealize", "body")}),
                        span);
     }},
    {"tir.ProducerStore",
     [](DataProducer producer, PrimExpr value, Array<PrimExpr> indices, Span span) {
       return with_span(make(ProducerStore{.producer = need(producer, "ProducerStore", "producer"),
                                           .value = need(value, "ProducerStore", "value"),
                                           .indices = indices}),
                        span);
     }},
    {"tir.ProducerRealize",
     [](DataProducer producer, Array<Range> bounds, PrimExpr condition, Stmt body, String scope, Span span) {
       return with_span(make(ProducerRealize{.producer = need(producer, "ProducerRealize", "producer"),
                                             .bounds = bounds,
                                             .condition = need_bool(condition, "ProducerRealize", "condition"),
                                             .body = need(body, "ProducerRealize", "body"),
                                             .storage_scope = scope}),
                        span);
     }},
    {"tir.Allocate",
     [](Var var, DataType dtype, Array<PrimExpr> extents, PrimExpr condition, Stmt body,
        Map<String, ObjectRef> annotations,
        Span span) { return with_span(checked_allocate(var, dtype, extents, condition, body, annotations), span); }},
    {"tir.AllocateConst",
     [](Var var, DataType dtype, Array<PrimExpr> extents, AnyView data, Stmt body, Map<String, ObjectRef> annotations,
        Span span) { return with_span(checked_allocate_const(var, dtype, extents, data, body, annotations), span); }},
    {"tir.DeclBuffer",
     [](Buffer buffer, Stmt body, Span span) {
       return with_span(
           make(DeclBuffer{.buffer = need(buffer, "DeclBuffer", "buffer"), .body = need(body, "DeclBuffer", "body")}),
           span);
     }},
    {"tir.SeqStmt",
     [](Array<Stmt> seq, Span span) {
       for (const Stmt& part : seq) need(part, "SeqStmt", "part");
       return with_span(make(SeqStmt{.seq = seq}), span);
     }},
    {"tir.Evaluate",
     [](PrimExpr value, Span span) { return with_span(evaluate(need(value, "Evaluate", "value")), span); }},
    {"tir.IfThenElse",
     [](PrimExpr condition, Stmt then_case, Stmt else_case, Span span) {
       return with_span(make(IfThenElse{.condition = need(condition, "IfThenElse", "condition"),
                                        .then_case = need(then_case, "IfThenElse", "then_case"),
                                        .else_case = else_case}),
                        span);
     }},
    {"tir.For",
     [](Var var, PrimExpr min, PrimExpr extent, LoopKind kind, Stmt body, IterVar thread_binding,
        Map<String, ObjectRef> annotations,
        Span span) { return with_span(checked_for(var, min, extent, kind, body, thread_binding, annotations), span); }},
    {"tir.While",
     [](PrimExpr condition, Stmt body, Span span) {
       return with_span(
           make(While{.condition = need_bool(condition, "While", "condition"), .body = need(body, "While", "body")}),
           span);
     }},
    {"tir.Prefetch",
     [](Buffer buffer, Array<Range> bounds, Span span) {
       return with_span(make(Prefetch{.buffer = need(buffer, "Prefetch", "buffer"), .bounds = bounds}), span);
     }},
    {"tir.Block",
     [](Array<IterVar> iter_vars, Array<BufferRegion> reads, Array<BufferRegion> writes, String name, Stmt body,
        Stmt init, Array<Buffer> alloc_buffers, Array<MatchBufferRegion> match_buffers,
        Map<String, ObjectRef> annotations, Span span) {
       return with_span(
           checked_block(iter_vars, reads, writes, name, body, init, alloc_buffers, match_buffers, annotations), span);
     }},
    {"tir.BlockRealize", [](Array<PrimExpr> values, PrimExpr predicate, Block block,
                            Span span) { return with_span(checked_block_realize(values, predicate, block), span); }},
};

}  // namespace
}  // namespace tessera
