// TVMScript of statements other than blocks and allocations.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "tir/print.h"
#include "tir/print/script.h"

namespace tessera {
namespace {

bool is_plain(const For* loop) {
  return loop->kind == LoopKind::Serial && is_zero(loop->min) && !loop->thread_binding && loop->annotations.empty();
}

/// The plain loops that begin here, one directly in the other, none with an extent that depends on another.
std::vector<const For*> plain_nest(const ScriptPrinter& p, const For* loop) {
  std::vector<const For*> nest;
  for (; loop && is_plain(loop) && !p.is_marked(loop); loop = loop->body.as<For>()) {
    bool depends = uses_var(loop->extent, [&](const VarNode* var) {
      for (const For* outer : nest)
        if (outer->loop_var.get() == var) return true;
      return false;
    });
    if (depends) break;
    nest.push_back(loop);
  }
  return nest;
}

/// T.serial(8), T.unroll(2, 8), T.thread_binding(4, thread="threadIdx.x"), ...
void script_loop_range(ScriptPrinter& p, const For* loop) {
  static constexpr const char* kKinds[] = {"serial", "parallel", "vectorized", "unroll", "thread_binding"};
  p.dialect(kKinds[static_cast<int>(loop->kind)]) << "(";
  if (is_zero(loop->min)) p << loop->extent;
  else p << loop->min << ", " << loop->min + loop->extent;
  if (loop->thread_binding) p << ", thread=" << quoted(loop->thread_binding->thread_tag);
  if (!loop->annotations.empty()) {
    p << ", annotations=";
    p.dictionary(loop->annotations);
  }
  p << ")";
}

void script_for(ScriptPrinter& p, const For* loop) {
  std::vector<const For*> nest = plain_nest(p, loop);
  if (nest.empty()) nest.push_back(loop);
  p.marked(loop, [&] {
    p << "for ";
    for (const For* one : nest) {
      p.define(one->loop_var.get());
      p << (one == loop ? "" : ", ") << one->loop_var;
    }
    p << " in ";
    if (nest.size() == 1) {
      script_loop_range(p, loop);
    } else {
      p.dialect("grid") << "(";
      for (const For* one : nest) p << (one == loop ? "" : ", ") << one->extent;
      p << ")";
    }
    p << ":";
  });
  for (const For* one : nest) p.enter_loop(one);
  p.suite(nest.back()->body);
  for (const For* one : nest) {
    p.leave_loop(one);
    p.release(one->loop_var.get());
  }
}

void script_if(ScriptPrinter& p, const IfThenElse* stmt) {
  p << "if " << stmt->condition << ":";
  p.suite(stmt->then_case);
  if (!stmt->else_case) return;
  p.newline();
  p << "else:";
  p.suite(stmt->else_case);
}

/// In the wide form the head of the function says what the variable is.
void script_let(ScriptPrinter& p, const LetStmt* stmt) {
  const VarNode* var = stmt->var.get();
  std::string value = p.captured([&] { p << stmt->value; });
  if (p.is_last()) p.define(var);
  std::string wide = p.captured([&] { p.dialect("let") << "(" << stmt->var << ", " << value << ")"; });
  std::string concise = p.captured([&] {
    p << stmt->var << ": ";
    p.type(var);
    p << " = " << value;
  });
  p.scoped(wide, concise, stmt->body, [&] { p.declare_views(var); });
}

/// T.realize(A[0 : 8], "shared"); without a scope there is no attribute around it that says one.
/// A buffer whose shape depends on what is in scope only here is declared here and not at the head.
void script_realize(ScriptPrinter& p, const BufferRealize* stmt, const StringImm* scope) {
  if (p.needs_scope(stmt->buffer.get())) {
    p.declare_buffer(stmt->buffer.get(), "buffer_decl");
    p.newline();
  }
  std::string call = p.captured([&] {
    p.dialect("realize") << "(";
    p.region(stmt->buffer.get(), stmt->bounds);
    if (scope) p << ", " << quoted(scope->value);
    if (!is_one(stmt->condition)) p << ", condition=" << stmt->condition;
    p << ")";
  });
  p.scoped(call, call, stmt->body);
}

/// T.launch_thread says this: a thread of the kind its tag asks for.
bool is_thread_launch(const AttrStmt* stmt) {
  auto* iter = stmt->node.as<IterVarNode>();
  if (!iter || iter->iter_type != IterType::ThreadIndex || iter->thread_tag.empty()) return false;
  bool is_virtual = iter->thread_tag.str().rfind("vthread", 0) == 0;
  return stmt->attr_key == (is_virtual ? "virtual_thread" : "thread_extent");
}

void script_attr(ScriptPrinter& p, const AttrStmt* stmt) {
  auto* realize = stmt->body.as<BufferRealize>();
  auto* scope = stmt->value.as<StringImm>();
  if (realize && scope && stmt->attr_key == "realize_scope" && stmt->node.same_as(realize->buffer))
    return script_realize(p, realize, scope);
  auto* iter = stmt->node.as<IterVarNode>();
  bool is_launch = is_thread_launch(stmt);
  std::string call = p.captured([&] {
    if (is_launch) {
      p.define_thread(iter->var.get(), iter->thread_tag.str());
      p.dialect("launch_thread") << "(" << iter->var << ", " << stmt->value << ")";
    } else {
      p.dialect("attr") << "(";
      p.value(stmt->node);
      p << ", " << quoted(stmt->attr_key) << ", " << stmt->value << ")";
    }
  });
  p.scoped(call, call, stmt->body);
  if (is_launch) p.release_thread(iter->var.get());
}

void script_assert(ScriptPrinter& p, const AssertStmt* stmt) {
  std::string parts = p.captured([&] { p << stmt->condition << ", " << stmt->message; });
  std::string wide = p.captured([&] { p.dialect("Assert") << "(" << parts << ")"; });
  p.scoped(wide, "assert " + parts, stmt->body);
}

ScriptRows script_statements{
    script_for,
    script_if,
    script_let,
    script_attr,
    [](ScriptPrinter& p, const BufferRealize* stmt) { script_realize(p, stmt, nullptr); },
    script_assert,
    [](ScriptPrinter& p, const SeqStmt* stmt) { p.body(Stmt(stmt)); },
    [](ScriptPrinter& p, const Evaluate* stmt) { p.dialect("evaluate") << "(" << stmt->value << ")"; },
    [](ScriptPrinter& p, const While* stmt) {
      p << "while " << stmt->condition << ":";
      p.suite(stmt->body);
    },
    [](ScriptPrinter& p, const Prefetch* stmt) {
      p.dialect("prefetch") << "(" << stmt->buffer << ", " << stmt->bounds << ")";
    },
    [](ScriptPrinter& p, const ProducerStore* stmt) {
      p << producer_name(stmt->producer.get()) << stmt->indices << " = " << stmt->value;
    },
    [](ScriptPrinter& p, const ProducerRealize* stmt) {
      std::string call = p.captured([&] {
        p.dialect("producer_realize") << "(" << producer_name(stmt->producer.get()) << ", " << stmt->bounds << ")";
      });
      p.scoped(call, call, stmt->body);
    },
};

}  // namespace
}  // namespace tessera
