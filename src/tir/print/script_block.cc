// TVMScript of blocks.

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "tir/print/script.h"

namespace tessera {
namespace {

/// 'S' or 'R' where the axis is one loop, over the same range; else 0.
char remap_kind(const ScriptPrinter& p, const IterVar& iter, const PrimExpr& value) {
  const For* loop = p.loop_of(value);
  if (!loop || !structural_equal(loop->min, iter->dom->min) || !structural_equal(loop->extent, iter->dom->extent))
    return 0;
  if (iter->iter_type == IterType::DataPar) return 'S';
  if (iter->iter_type == IterType::CommReduce) return 'R';
  return 0;
}

/// vi = T.axis.spatial(8, i + 1)
void script_axis(ScriptPrinter& p, const IterVar& iter, const PrimExpr& value) {
  const char* kind = "opaque";
  if (iter->iter_type == IterType::DataPar) kind = "spatial";
  if (iter->iter_type == IterType::CommReduce) kind = "reduce";
  if (iter->iter_type == IterType::Ordered) kind = "scan";
  (p << iter->var << " = ").dialect("axis.") << kind << "(";
  if (is_zero(iter->dom->min)) p << iter->dom->extent;
  else p << "(" << iter->dom->min << ", " << iter->dom->min + iter->dom->extent << ")";
  p << ", " << value << ")";
}

/// vi, vk = T.axis.remap("SR", [i, k]) for axes `begin` to `end`.
void script_remap(ScriptPrinter& p, const BlockRealize* realize, const std::string& kinds, size_t begin, size_t end) {
  const Array<IterVar>& iters = realize->block->iter_vars;
  for (size_t i = begin; i < end; ++i) p << (i == begin ? "" : ", ") << iters[i]->var;
  (p << " = ").dialect("axis.remap") << "(" << quoted(kinds) << ", [";
  for (size_t i = begin; i < end; ++i) p << (i == begin ? "" : ", ") << realize->iter_values[i];
  p << "])";
}

void script_axes(ScriptPrinter& p, const BlockRealize* realize) {
  const Array<IterVar>& iters = realize->block->iter_vars;
  for (size_t i = 0; i < iters.size();) {
    std::string kinds;
    size_t end = i;
    for (; end < iters.size(); ++end) {
      char kind = remap_kind(p, iters[end], realize->iter_values[end]);
      if (!kind) break;
      kinds += kind;
    }
    p.newline();
    if (end - i >= 2) {
      script_remap(p, realize, kinds, i, end);
      i = end;
    } else {
      script_axis(p, iters[i], realize->iter_values[i]);
      ++i;
    }
  }
}

void script_block_parts(ScriptPrinter& p, const BlockNode* block) {
  p.newline();
  (p.dialect("reads") << "(").list(block->reads) << ")";
  p.newline();
  (p.dialect("writes") << "(").list(block->writes) << ")";
  if (!block->annotations.empty()) {
    p.newline();
    p.dialect("block_attr") << "(";
    p.dictionary(block->annotations);
    p << ")";
  }
  for (const Buffer& buffer : block->alloc_buffers) {
    p.newline();
    p.declare_buffer(buffer.get(), "alloc_buffer");
  }
  for (const MatchBufferRegion& match : block->match_buffers) {
    const BufferNode* buffer = match->buffer.get();
    p.newline();
    p.mark_declared(buffer);
    std::string source = p.captured([&] { p << match->source; });
    (p << p.name_of(buffer) << " = ").dialect("match_buffer") << "(" << source << ", " << buffer->shape;
    p.buffer_options(buffer);
    p << ")";
  }
  if (block->init) {
    p.newline();
    (p << "with ").dialect("init") << "():";
    p.suite(block->init);
  }
  p.newline();
  p.body(block->body);
}

void script_title(ScriptPrinter& p, const BlockNode* block) {
  p.marked(block, [&] {
    (p << "with ").dialect("block") << "(";
    if (!block->name_hint.empty()) p << quoted(block->name_hint);
    p << "):";
  });
}

void script_realize(ScriptPrinter& p, const BlockRealize* realize) {
  const BlockNode* block = realize->block.get();
  script_title(p, block);
  p.nested([&] {
    for (const IterVar& iter : block->iter_vars) p.define(iter->var.get());
    if (!is_one(realize->predicate)) {
      p.newline();
      p.dialect("where") << "(" << realize->predicate << ")";
    }
    script_axes(p, realize);
    script_block_parts(p, block);
  });
  for (const IterVar& iter : block->iter_vars) p.release(iter->var.get());
}

/// A block on its own, without values for its variables.
void script_block(ScriptPrinter& p, const BlockNode* block) {
  script_title(p, block);
  p.nested([&] {
    for (const IterVar& iter : block->iter_vars) {
      p.define(iter->var.get());
      p.newline();
      script_axis(p, iter, iter->var);
    }
    script_block_parts(p, block);
  });
  for (const IterVar& iter : block->iter_vars) p.release(iter->var.get());
}

ScriptRows script_blocks{script_realize, script_block};

}  // namespace
}  // namespace tessera
