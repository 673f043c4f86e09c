// The text form of statements, blocks, functions and modules.

#include "ir/prim/ops.h"
#include "ir/structural/map_order.h"
#include "tir/print.h"
#include "tir/print/text.h"

namespace tessera {
namespace {

void text_for(TextPrinter& p, const For* loop) {
  static constexpr const char* kKinds[] = {"", " \"parallel\"", " \"vectorized\"", " \"unroll\"",
                                           " \"thread_binding\""};
  p << "for (" << loop->loop_var << ", " << loop->min << ", " << loop->min + loop->extent << ")"
    << kKinds[static_cast<int>(loop->kind)];
  p.body(loop->body);
}

void text_if(TextPrinter& p, const IfThenElse* stmt) {
  p << "if " << stmt->condition;
  p.body(stmt->then_case);
  if (!stmt->else_case) return;
  p << " else";
  p.body(stmt->else_case);
}

void text_allocate(TextPrinter& p, const Allocate* stmt) {
  p << "allocate(" << stmt->buffer_var << ", " << stmt->dtype << ", " << stmt->extents;
  if (!is_one(stmt->condition)) p << ", " << stmt->condition;
  auto* pointer = stmt->buffer_var->type_annotation.as<PointerType>();
  bool is_global = !pointer || pointer->storage_scope.empty();
  p << "), storage_scope = " << (is_global ? "global" : pointer->storage_scope.str());
  if (!stmt->annotations.empty()) p << ", annotations = " << stmt->annotations;
  p.scope(stmt->body, ";");
}

/// 8, tir.range(2, 8), tir.reduce_axis(0, 8), ...
void text_axis(TextPrinter& p, const IterVarNode* iter) {
  const Range& dom = iter->dom;
  const char* kind = nullptr;
  switch (iter->iter_type) {
    case IterType::DataPar:
      if (is_zero(dom->min)) return void(p << dom->extent);
      kind = "range";
      break;
    case IterType::CommReduce: kind = "reduce_axis"; break;
    case IterType::Ordered: kind = "scan_axis"; break;
    default: kind = "opaque_axis"; break;
  }
  p << "tir." << kind << "(" << dom->min << ", " << dom->min + dom->extent << ")";
}

void text_block_head(TextPrinter& p, const BlockNode* block) {
  p << "block([";
  bool first = true;
  for (const IterVar& iter : block->iter_vars) {
    if (!first) p << ", ";
    first = false;
    text_axis(p, iter.get());
  }
  p << "], " << quoted(block->name_hint) << ")";
  if (block->iter_vars.empty()) return;
  p << " as [";
  first = true;
  for (const IterVar& iter : block->iter_vars) {
    if (!first) p << ", ";
    first = false;
    p << p.name_of(iter->var.get());
  }
  p << "]";
}

void text_block_parts(TextPrinter& p, const BlockNode* block) {
  auto line = [&](auto&&... parts) {
    p.newline();
    (p << ... << parts);
  };
  line("tir.reads(", block->reads, ")");
  line("tir.writes(", block->writes, ")");
  if (!block->annotations.empty()) line("tir.attrs(", block->annotations, ")");
  for (const Buffer& buffer : block->alloc_buffers)
    line(p.name_of(buffer.get()), " = alloc_buffer(", buffer->dtype, buffer->shape, ")");
  for (const MatchBufferRegion& match : block->match_buffers)
    line(p.name_of(match->buffer.get()), " = match_buffer(", match->source, ")");
  if (block->init) {
    line("with init()");
    p.body(block->init);
  }
  line(block->body);
}

// v0.10 writes no closing brace after a block; texts are compared with its, so neither do we.
void text_block_realize(TextPrinter& p, const BlockRealize* realize) {
  const BlockNode* block = realize->block.get();
  text_block_head(p, block);
  p << " {";
  p.nested([&] {
    for (size_t i = 0; i < block->iter_vars.size() && i < realize->iter_values.size(); ++i) {
      p.newline();
      p << "bind(" << p.name_of(block->iter_vars[i]->var.get()) << ", " << realize->iter_values[i] << ")";
    }
    if (!is_one(realize->predicate)) {
      p.newline();
      p << "where(" << realize->predicate << ")";
    }
    text_block_parts(p, block);
  });
}

TextRows text_statements{
    text_for,
    text_if,
    text_allocate,
    text_block_realize,
    [](TextPrinter& p, const BlockNode* block) {
      text_block_head(p, block);
      p << " {";
      p.nested([&] { text_block_parts(p, block); });
    },
    [](TextPrinter& p, const LetStmt* stmt) {
      p << "let " << stmt->var << " = " << stmt->value;
      p.newline();
      if (stmt->body.as<SeqStmt>()) {
        p.body(stmt->body);
      } else {
        p << stmt->body;
      }
    },
    [](TextPrinter& p, const AttrStmt* stmt) {
      p << "attr [" << stmt->node << "] " << quoted(stmt->attr_key) << " = " << stmt->value;
      p.scope(stmt->body, ";");
    },
    [](TextPrinter& p, const AssertStmt* stmt) {
      p << "assert(" << stmt->condition << ", " << stmt->message << ")";
      p.scope(stmt->body, "");
    },
    [](TextPrinter& p, const BufferStore* stmt) { p << stmt->buffer << stmt->indices << " = " << stmt->value; },
    [](TextPrinter& p, const ProducerStore* stmt) {
      p << producer_name(stmt->producer.get()) << stmt->indices << " = " << stmt->value;
    },
    [](TextPrinter& p, const BufferRealize* stmt) {
      p << "realize(" << stmt->buffer << ", " << stmt->bounds << ", " << stmt->condition;
      p.body(stmt->body);
      p << ")";
    },
    [](TextPrinter& p, const ProducerRealize* stmt) {
      p << "producer_realize(" << producer_name(stmt->producer.get()) << ", " << stmt->bounds << ", " << stmt->condition
        << ", " << quoted(stmt->storage_scope);
      p.body(stmt->body);
      p << ")";
    },
    [](TextPrinter& p, const AllocateConst* stmt) {
      p << "constant(" << stmt->buffer_var << ", " << stmt->dtype << ", " << stmt->extents << ")";
      p.scope(stmt->body, ";");
    },
    [](TextPrinter& p, const DeclBuffer* stmt) {
      p << "decl_buffer(" << stmt->buffer << ")";
      p.scope(stmt->body, ";");
    },
    [](TextPrinter& p, const Prefetch* stmt) { p << "prefetch(" << stmt->buffer << ", " << stmt->bounds << ")"; },
    [](TextPrinter& p, const SeqStmt* stmt) {
      bool first = true;
      for (const Stmt& s : stmt->seq) {
        if (!first) p.newline();
        first = false;
        p << s;
      }
    },
    [](TextPrinter& p, const Evaluate* stmt) { p << stmt->value; },
    [](TextPrinter& p, const While* stmt) {
      p << "while (" << stmt->condition << ")";
      p.body(stmt->body);
    },
    [](TextPrinter& p, const PrimFuncNode* function) { p.function(function); },
    [](TextPrinter& p, const IRModuleNode* mod) { p.module(mod); },
};

/// "key": value, ... of a function's attributes.
void text_attrs(TextPrinter& p, const DictAttrsNode* attrs) {
  bool first = true;
  for (const auto& [key, value] : printing_order(attrs->dict.get())) {
    if (!first) p << ", ";
    first = false;
    p << key << ": " << value;
  }
}

/// {a: A, b: B}, in the order of the parameters.
template <class F>
void text_by_param(TextPrinter& p, const PrimFuncNode* function, const Map<Var, Buffer>& buffers, F&& print_value) {
  p << "{";
  bool first = true;
  for (const Var& param : function->params) {
    Buffer buffer = buffers.get_or_null(param);
    if (!buffer) continue;
    if (!first) p << ", ";
    first = false;
    p << param << ": ";
    print_value(buffer);
  }
  p << "}";
}

}  // namespace

void TextPrinter::function(const PrimFuncNode* function) {
  names_.clear();
  for (const Var& param : function->params)  // buffers have the first claim on their names
    if (Buffer buffer = function->buffer_map.get_or_null(param)) name_of(buffer.get());
  (*this << "primfn(").list(function->params) << ") -> " << function->ret_type;
  nested([&] {
    if (function->attrs && !function->attrs->dict.empty()) {
      newline();
      *this << "attr = {";
      text_attrs(*this, function->attrs.get());
      *this << "}";
    }
    if (!function->buffer_map.empty()) {
      newline();
      *this << "buffers = {";
      bool first = true;
      for (const Var& param : function->params) {
        Buffer buffer = function->buffer_map.get_or_null(param);
        if (!buffer) continue;
        if (!first) (*this << ",").newline(), *this << "           ";
        first = false;
        *this << name_of(buffer.get()) << ": ";
        declare(buffer.get());
      }
      *this << "}";
      newline();
      *this << "buffer_map = ";
      text_by_param(*this, function, function->buffer_map, [&](const Buffer& b) { *this << b; });
    }
    if (!function->preflattened_buffer_map.empty()) {
      newline();
      *this << "preflattened_buffer_map = ";
      text_by_param(*this, function, function->preflattened_buffer_map, [&](const Buffer& b) { *this << b; });
    }
  });
  body(function->body);
}

void TextPrinter::module(const IRModuleNode* mod) {
  for (const auto& [var, function] : IRModule(mod).sorted_functions()) {
    *this << "@" << var->name_hint.str() << " = " << function;
    newline();
    newline();
  }
}

}  // namespace tessera
