// The plain printer's rows for loop programs (see ir/repr.h).

#include "ir/repr.h"
#include "ir/prim/ops.h"
#include "tir/function.h"
#include "tir/layout.h"
#include "tir/print.h"

namespace tessera {
namespace {

NodeTable<ProducerName>& producer_names() {
  static auto* table = new NodeTable<ProducerName>;
  return *table;
}

void print_body(ReprPrinter& p, const Stmt& body) {
  p.nested([&] { p << body; });
}

void print_block_end(ReprPrinter& p) {
  p.print_indent();
  p << "}\n";
}

/// ([0, 4], [2, 8])
void print_bounds(ReprPrinter& p, const Array<Range>& bounds) {
  p << "(";
  bool first = true;
  for (const Range& range : bounds) {
    if (!first) p << ", ";
    first = false;
    p << "[" << range->min << ", " << range->extent << "]";
  }
  p << ")";
}

void print_condition(ReprPrinter& p, const PrimExpr& condition) {
  if (condition && !is_one(condition)) p << " if " << condition;
}

void print_for(ReprPrinter& p, const For* loop) {
  static constexpr const char* kKinds[] = {"for", "parallel", "vectorized", "unrolled", "launch_thread"};
  p.print_indent();
  p << kKinds[static_cast<int>(loop->kind)] << " (" << loop->loop_var << ", " << loop->min << ", " << loop->extent
    << ") {\n";
  print_body(p, loop->body);
  print_block_end(p);
}

void print_if(ReprPrinter& p, const IfThenElse* stmt) {
  p.print_indent();
  while (true) {
    p << "if (" << stmt->condition << ") {\n";
    print_body(p, stmt->then_case);
    if (!stmt->else_case) break;
    p.print_indent();
    auto* next = stmt->else_case.as<IfThenElse>();
    if (!next) {
      p << "} else {\n";
      print_body(p, stmt->else_case);
      break;
    }
    p << "} else ";
    stmt = next;
  }
  print_block_end(p);
}

void print_allocate(ReprPrinter& p, const Allocate* stmt) {
  p.print_indent();
  p << "allocate " << stmt->buffer_var << "[" << stmt->dtype.str();
  for (const PrimExpr& extent : stmt->extents) p << " * " << extent;
  p << "]";
  auto* pointer = stmt->buffer_var->type_annotation.as<PointerType>();
  bool is_global = !pointer || pointer->storage_scope.empty() || pointer->storage_scope == "global";
  p << ", storage_scope = " << (is_global ? "global" : pointer->storage_scope.str());
  print_condition(p, stmt->condition);
  p << "\n" << stmt->body;
}

template <class Realize>
void print_realize(ReprPrinter& p, const std::string& what, const Realize* stmt) {
  p.print_indent();
  p << what;
  print_bounds(p, stmt->bounds);
  print_condition(p, stmt->condition);
  p << " {\n";
  print_body(p, stmt->body);
  print_block_end(p);
}

void print_block_parts(ReprPrinter& p, const BlockNode* block) {
  auto line = [&](auto&&... parts) {
    p.print_indent();
    (p << ... << parts);
    p << "\n";
  };
  line("reads(", block->reads, ")");
  line("writes(", block->writes, ")");
  for (const Buffer& buffer : block->alloc_buffers)
    line("alloc_buffer(", buffer->name.str(), "[", buffer->dtype.str(), " ", buffer->shape, "])");
  for (const MatchBufferRegion& match : block->match_buffers) line(match);
  if (!block->annotations.empty()) line("annotations(", block->annotations, ")");
  if (block->init) {
    line("with init() {");
    print_body(p, block->init);
    print_block_end(p);
  }
  p << block->body;
}

void print_block_title(ReprPrinter& p, const BlockNode* block) {
  p << "block " << block->name_hint.str() << "(";
  p.list(block->iter_vars) << ")";
}

ReprRows repr_expressions{
    [](ReprPrinter& p, const BufferNode* buffer) {
      p << "buffer(" << buffer->name.str() << ", " << address_text(buffer) << ")";
    },
    [](ReprPrinter& p, const BufferLoad* e) { p << e->buffer->name.str() << e->indices; },
    [](ReprPrinter& p, const BufferRegionNode* region) {
      p << region->buffer->name.str() << "[";
      bool first = true;
      for (const Range& range : region->region) {
        if (!first) p << ", ";
        first = false;
        p << range->min;
        if (is_one(range->extent)) continue;
        p << ":" << range->min + range->extent;
      }
      p << "]";
    },
    [](ReprPrinter& p, const MatchBufferRegionNode* match) {
      p << match->buffer->name.str() << " = match_buffer(" << match->source << ")";
    },
    [](ReprPrinter& p, const IterVarNode* iter) {
      p << "iter_var(";
      if (!iter->var->name.empty()) p << iter->var->name.str() << ", ";
      if (iter->dom) p << iter->dom;
      if (!iter->thread_tag.empty()) p << ", " << iter->thread_tag.str();
      p << ")";
    },
    [](ReprPrinter& p, const CommReducerNode* reducer) {
      p << "comm_reducer(result=" << reducer->result << ", lhs=" << reducer->lhs << ", rhs=" << reducer->rhs
        << ", identity_element=" << reducer->identity_element << ")";
    },
    [](ReprPrinter& p, const Reduce* e) {
      p << "reduce(combiner=" << e->combiner << ", source=" << e->source << ", init=" << e->init << ", axis=" << e->axis
        << ", where=" << e->condition << ", value_index=" << e->value_index << ")";
    },
    [](ReprPrinter& p, const LayoutNode* layout) { p << "Layout(" << layout->name.str() << ")"; },
    [](ReprPrinter& p, const BijectiveLayoutNode* layout) {
      p << "BijectiveLayout(" << layout->src_layout->name.str() << "->" << layout->dst_layout->name.str() << ")";
    },
    [](ReprPrinter& p, const ProducerLoad* e) { p << producer_name(e->producer.get()) << e->indices; },
};

ReprRows repr_statements{
    print_for,
    print_if,
    print_allocate,
    [](ReprPrinter& p, const LetStmt* stmt) {
      p.print_indent();
      p << "let " << stmt->var << " = " << stmt->value << "\n" << stmt->body;
    },
    [](ReprPrinter& p, const AttrStmt* stmt) {
      p.print_indent();
      p << "// attr [" << stmt->node << "] " << stmt->attr_key.str() << " = " << stmt->value << "\n" << stmt->body;
    },
    [](ReprPrinter& p, const AssertStmt* stmt) {
      p.print_indent();
      p << "assert(" << stmt->condition << ", " << stmt->message << ")\n" << stmt->body;
    },
    [](ReprPrinter& p, const BufferStore* stmt) {
      p.print_indent();
      p << stmt->buffer->name.str() << stmt->indices << " = " << stmt->value << "\n";
    },
    [](ReprPrinter& p, const ProducerStore* stmt) {
      p.print_indent();
      p << producer_name(stmt->producer.get()) << stmt->indices << " = " << stmt->value << "\n";
    },
    [](ReprPrinter& p, const BufferRealize* stmt) {
      print_realize(p, "buffer_realize " + stmt->buffer->name.str(), stmt);
    },
    [](ReprPrinter& p, const ProducerRealize* stmt) {
      print_realize(p, "producer_realize " + producer_name(stmt->producer.get()), stmt);
    },
    [](ReprPrinter& p, const AllocateConst* stmt) {
      p.print_indent();
      p << "constant " << stmt->buffer_var << "[" << stmt->dtype.str();
      for (const PrimExpr& extent : stmt->extents) p << " * " << extent;
      p << "]\n" << stmt->body;
    },
    [](ReprPrinter& p, const DeclBuffer* stmt) {
      p.print_indent();
      p << "decl_buffer " << stmt->buffer->name.str() << "\n" << stmt->body;
    },
    [](ReprPrinter& p, const Prefetch* stmt) {
      p.print_indent();
      p << "prefetch " << stmt->buffer->name.str();
      print_bounds(p, stmt->bounds);
      p << "\n";
    },
    [](ReprPrinter& p, const SeqStmt* stmt) {
      for (const Stmt& s : stmt->seq) p << s;
    },
    [](ReprPrinter& p, const Evaluate* stmt) {
      p.print_indent();
      p << stmt->value << "\n";
    },
    [](ReprPrinter& p, const While* stmt) {
      p.print_indent();
      p << "while(" << stmt->condition << ") {\n";
      print_body(p, stmt->body);
      print_block_end(p);
    },
    [](ReprPrinter& p, const BlockNode* block) {
      p.print_indent();
      print_block_title(p, block);
      p << " {\n";
      p.nested([&] { print_block_parts(p, block); });
      print_block_end(p);
    },
    [](ReprPrinter& p, const BlockRealize* realize) {
      const BlockNode* block = realize->block.get();
      p.print_indent();
      print_block_title(p, block);
      p << " {\n";
      p.nested([&] {
        for (size_t i = 0; i < block->iter_vars.size() && i < realize->iter_values.size(); ++i) {
          p.print_indent();
          p << "bind(" << block->iter_vars[i]->var << ", " << realize->iter_values[i] << ")\n";
        }
        if (!is_one(realize->predicate)) {
          p.print_indent();
          p << "where(" << realize->predicate << ")\n";
        }
        print_block_parts(p, block);
      });
      print_block_end(p);
    },
    [](ReprPrinter& p, const PrimFuncNode* function) {
      p << "PrimFunc(" << function->params << ")";
      if (function->attrs) p << " attrs=" << function->attrs;
      p << " {\n";
      print_body(p, function->body);
      p << "}\n";
    },
};

}  // namespace

void set_producer_name(const NodeInfo& type, ProducerName name) { producer_names().set(type, std::move(name)); }

std::string producer_name(const Object* producer) {
  const ProducerName* name = producer ? producer_names().find(producer) : nullptr;
  return name ? (*name)(producer) : repr(producer);
}

}  // namespace tessera
