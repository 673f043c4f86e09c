// TVMScript of statements other than blocks.

#include "ir/prim_ops.h"
#include "ir/rewrite.h"
#include "ir/structural_equal.h"
#include "runtime/ndarray.h"
#include "tir/print.h"
#include "tir/print_script.h"

namespace tessera {
namespace {

bool is_plain(const For* loop) {
  return loop->kind == LoopKind::Serial && is_zero(loop->min) && !loop->thread_binding && loop->annotations.empty();
}

/// The plain loops that begin here, one directly in the other, none with an extent that depends on another.
std::vector<const For*> plain_nest(const For* loop) {
  std::vector<const For*> nest;
  for (; loop && is_plain(loop); loop = loop->body.as<For>()) {
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
void print_loop_range(ScriptPrinter& p, const For* loop) {
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

void print_for(ScriptPrinter& p, const For* loop) {
  std::vector<const For*> nest = plain_nest(loop);
  if (nest.empty()) nest.push_back(loop);
  p << "for ";
  for (const For* one : nest) {
    p.define(one->loop_var.get());
    p << (one == loop ? "" : ", ");
    p.marked(one, [&] { p << one->loop_var; });
  }
  p << " in ";
  if (nest.size() == 1) {
    print_loop_range(p, loop);
  } else {
    p.dialect("grid") << "(";
    for (const For* one : nest) p << (one == loop ? "" : ", ") << one->extent;
    p << ")";
  }
  p << ":";
  for (const For* one : nest) p.enter_loop(one);
  p.suite(nest.back()->body);
  for (const For* one : nest) {
    p.leave_loop(one);
    p.release(one->loop_var.get());
  }
}

void print_if(ScriptPrinter& p, const IfThenElse* stmt) {
  p << "if " << stmt->condition << ":";
  p.suite(stmt->then_case);
  if (!stmt->else_case) return;
  p.newline();
  p << "else:";
  p.suite(stmt->else_case);
}

void print_let(ScriptPrinter& p, const LetStmt* stmt) {
  const VarNode* var = stmt->var.get();
  std::string value = p.captured([&] { p << stmt->value; });
  p.define(var);
  std::string wide = p.captured([&] { p.dialect("let") << "(" << stmt->var << ", " << value << ")"; });
  std::string concise = p.captured([&] {
    p << stmt->var << ": ";
    p.type(var);
    p << " = " << value;
  });
  p.scoped(wide, concise, stmt->body, [&] { p.declare_views(var); });
}

void print_attr(ScriptPrinter& p, const AttrStmt* stmt) {
  auto* iter = stmt->node.as<IterVarNode>();
  bool is_launch = iter && (stmt->attr_key == "thread_extent" || stmt->attr_key == "virtual_thread");
  std::string call = p.captured([&] {
    if (is_launch) {
      p.define_thread(iter->var.get(), iter->thread_tag.str());
      p.dialect("launch_thread") << "(" << iter->var << ", " << stmt->value << ")";
    } else {
      p.dialect("attr") << "(" << stmt->node << ", " << quoted(stmt->attr_key) << ", " << stmt->value << ")";
    }
  });
  p.scoped(call, call, stmt->body);
  if (is_launch) p.release(iter->var.get());
}

/// An allocation whose only view is declared right away is written as the declaration alone.
bool is_declared_whole(const Allocate* stmt) {
  auto* decl = stmt->body.as<DeclBuffer>();
  if (!decl || !decl->buffer->data.same_as(stmt->buffer_var)) return false;
  const BufferNode* buffer = decl->buffer.get();
  return buffer->dtype == stmt->dtype && is_one(stmt->condition) && stmt->annotations.empty() &&
         buffer->strides.empty() && buffer->axis_separators.empty() && is_zero(buffer->elem_offset) &&
         structural_equal(buffer->shape, stmt->extents);
}

void print_decl_buffer(ScriptPrinter& p, const DeclBuffer* stmt) {
  p.mark_declared(stmt->buffer.get());
  const std::string& name = p.name_of(stmt->buffer.get());
  std::string call = p.captured([&] {
    p.dialect("decl_buffer") << "(" << stmt->buffer->shape;
    p.buffer_options(stmt->buffer.get());
    p << ")";
  });
  p.scoped(call + " as " + name, name + " = " + call, stmt->body);
}

void print_allocate(ScriptPrinter& p, const Allocate* stmt) {
  if (is_declared_whole(stmt)) return print_decl_buffer(p, stmt->body.as<DeclBuffer>());
  const VarNode* var = stmt->buffer_var.get();
  auto* pointer = var->type_annotation.as<PointerType>();
  bool is_global = !pointer || pointer->storage_scope.empty();
  p.define(var);
  std::string call = p.captured([&] {
    p.dialect("allocate") << "(" << stmt->extents << ", " << quoted(stmt->dtype.str()) << ", "
                          << quoted(is_global ? "global" : pointer->storage_scope.str());
    if (!is_one(stmt->condition)) p << ", " << stmt->condition;
    if (!stmt->annotations.empty()) {
      p << ", annotations=";
      p.dictionary(stmt->annotations);
    }
    p << ")";
  });
  const std::string name = p.name_of(var);
  p.scoped(call + " as " + name, name + " = " + call, stmt->body, [&] { p.declare_views(var); });
}

/// Every element of a tensor as a Python number.
void print_elements(ScriptPrinter& p, const NDArray& tensor) {
  DataType dtype = tensor.dtype();
  p << "[";
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (i > 0) p << ", ";
    char digits[64] = "";
    if (dtype == DataType::Float(32)) std::snprintf(digits, sizeof(digits), "%.9g", tensor.data<float>()[i]);
    else if (dtype == DataType::Float(64)) std::snprintf(digits, sizeof(digits), "%.17g", tensor.data<double>()[i]);
    else if (dtype.bits == 8 && dtype.is_int()) std::snprintf(digits, sizeof(digits), "%d", tensor.data<int8_t>()[i]);
    else if (dtype.bits <= 8 && dtype.is_uint()) std::snprintf(digits, sizeof(digits), "%u", tensor.data<uint8_t>()[i]);
    else if (dtype == DataType::Int(16)) std::snprintf(digits, sizeof(digits), "%d", tensor.data<int16_t>()[i]);
    else if (dtype == DataType::UInt(16)) std::snprintf(digits, sizeof(digits), "%u", tensor.data<uint16_t>()[i]);
    else if (dtype == DataType::Int(32)) std::snprintf(digits, sizeof(digits), "%d", tensor.data<int32_t>()[i]);
    else if (dtype == DataType::Int(64)) p << tensor.data<int64_t>()[i];
    else throw Error(NotImplementedError) << "TVMScript has no form for constants of type " << dtype.str();
    p << digits;
  }
  p << "]";
}

void print_allocate_const(ScriptPrinter& p, const AllocateConst* stmt) {
  const VarNode* var = stmt->buffer_var.get();
  p.define(var);
  std::string call = p.captured([&] {
    p.dialect("allocate_const") << "(";
    if (auto* tensor = stmt->data.as<NDArrayNode>()) print_elements(p, NDArray(tensor));
    else p << "None";
    p << ", " << quoted(stmt->dtype.str()) << ", " << stmt->extents;
    if (stmt->irmod_storage_idx) p << ", irmod_storage_idx=" << stmt->irmod_storage_idx;
    p << ")";
  });
  const std::string name = p.name_of(var);
  p.scoped(call + " as " + name, name + " = " + call, stmt->body, [&] { p.declare_views(var); });
}

void print_realize(ScriptPrinter& p, const BufferRealize* stmt) {
  std::string call = p.captured([&] {
    p.dialect("realize") << "(";
    p.region(stmt->buffer.get(), stmt->bounds);
    p << ", " << quoted(stmt->buffer->scope());
    if (!is_one(stmt->condition)) p << ", condition=" << stmt->condition;
    p << ")";
  });
  p.scoped(call, call, stmt->body);
}

void print_assert(ScriptPrinter& p, const AssertStmt* stmt) {
  std::string parts = p.captured([&] { p << stmt->condition << ", " << stmt->message; });
  std::string wide = p.captured([&] { p.dialect("Assert") << "(" << parts << ")"; });
  p.scoped(wide, "assert " + parts, stmt->body);
}

ScriptRows statements{
    print_for,
    print_if,
    print_let,
    print_attr,
    print_allocate,
    print_allocate_const,
    print_decl_buffer,
    print_realize,
    print_assert,
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
