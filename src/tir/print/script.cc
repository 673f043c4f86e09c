#include "tir/print/script.h"

#include "base/stack.h"
#include "ir/rewrite.h"
#include "runtime/registry.h"
#include "tir/print.h"
#include "tir/print/letter.h"

namespace tessera {
namespace {

NodeTable<ScriptHandler>& script_table() {
  static auto* table = new NodeTable<ScriptHandler>;
  return *table;
}

/// A name as Python allows it.
std::string identifier(const std::string& name, const char* otherwise) {
  static const std::unordered_set<std::string> kReserved = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",   "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally", "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "not",     "nonlocal",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  std::string out = name.empty() || !is_letter(name[0]) ? otherwise + name : name;
  for (char& c : out)
    if (!is_letter(c) && c != '_' && !(c >= '0' && c <= '9')) c = '_';
  return kReserved.count(out) ? out + "_" : out;
}

}  // namespace

void set_script(const NodeInfo& type, ScriptHandler handler) { script_table().set(type, std::move(handler)); }

void ScriptPrinter::print(const Object* node) {
  if (!node) return void(text += "None");
  const ScriptHandler* row = script_table().find(node);
  if (!row)
    throw Error(NotImplementedError) << "TVMScript has no form for an object of type " << node->type_key() << ": "
                                     << to_text(ObjectRef(node));
  on_enough_stack([&] { (*row)(*this, node); });
}

void ScriptPrinter::body(const Stmt& stmt) {
  bool was_last = is_last_;
  if (auto* seq = stmt.as<SeqStmt>()) {
    for (size_t i = 0; i < seq->seq.size(); ++i) {
      if (i > 0) newline();
      is_last_ = i + 1 == seq->seq.size();
      *this << seq->seq[i];
    }
  } else {
    is_last_ = true;
    *this << stmt;
  }
  is_last_ = was_last;
}

void ScriptPrinter::suite(const Stmt& stmt) {
  nested([&] {
    newline();
    body(stmt);
  });
}

void ScriptPrinter::scoped(const std::string& wide, const std::string& concise, const Stmt& inner,
                           const std::function<void()>& extra) {
  if (is_last_) {
    *this << concise;
    newline();
    if (extra) extra();
    return body(inner);
  }
  *this << "with " << wide << ":";
  nested([&] {
    newline();
    if (extra) extra();
    body(inner);
  });
}

// ---- names ---------------------------------------------------------------------------------------------------

std::string ScriptPrinter::unique(std::string wanted) {
  std::string name = wanted;
  while (taken_.count(name)) name = wanted + "_" + std::to_string(++taken_[wanted]);
  taken_.emplace(name, 0);
  return name;
}

const std::string& ScriptPrinter::name_of(const VarNode* var) {
  auto [it, added] = var_names_.try_emplace(var);
  if (added) it->second = unique(identifier(var->name.str(), "v"));
  return it->second;
}

const std::string& ScriptPrinter::name_of(const BufferNode* buffer) {
  auto [it, added] = buffer_names_.try_emplace(buffer);
  if (added) {
    it->second = unique(identifier(buffer->name.str(), "buf_"));
    named_buffers_.push_back(buffer);
  }
  return it->second;
}

void ScriptPrinter::define(const VarNode* var) {
  if (!is_named(var)) defined_.insert(var);
  name_of(var);
}

// A name that others were derived from (i, i_1) stays taken.
void ScriptPrinter::release(const VarNode* var) {
  auto it = taken_.find(identifier(var->name.str(), "v"));
  if (it != taken_.end() && it->second == 0) taken_.erase(it);
}

void ScriptPrinter::define_thread(const VarNode* var, const std::string& tag) {
  defined_.insert(var);
  name_of(var);
  for (const auto& [known, _] : threads_)
    if (known == var) return;
  threads_.emplace_back(var, tag);
}

void ScriptPrinter::release_thread(const VarNode* var) {
  if (launches_[var] <= 1 && thread_tags_[var->name.str()].size() <= 1) release(var);
}

const For* ScriptPrinter::loop_of(const PrimExpr& e) const {
  auto* var = e.as<VarNode>();
  auto it = var ? loops_.find(var) : loops_.end();
  return it == loops_.end() ? nullptr : it->second;
}

// ---- buffers -------------------------------------------------------------------------------------------------

bool is_pointer_to(const VarNode* pointer, DataType dtype) {
  auto* type = pointer->type_annotation.as<PointerType>();
  auto* element = type ? type->element_type.as<PrimType>() : nullptr;
  return element && element->dtype == (dtype.is_bool() ? DataType::Int(8) : dtype);
}

/// The pointer is first seen here and has the type that a declaration without `data` gives it.
bool ScriptPrinter::is_own_pointer(const BufferNode* buffer) const {
  return !is_named(buffer->data.get()) && is_pointer_to(buffer->data.get(), buffer->dtype);
}

/// The offset is a variable first seen here, as a declaration with an `offset_factor` makes it.
bool ScriptPrinter::is_own_offset(const BufferNode* buffer) const {
  auto* offset = buffer->elem_offset.as<VarNode>();
  return offset && !is_named(offset) && offset->dtype == buffer->index_dtype() && buffer->offset_factor != 0;
}

void ScriptPrinter::buffer_options(const BufferNode* buffer) {
  const std::string& name = name_of(buffer);
  *this << ", dtype=" << quoted(buffer->dtype.str());
  if (is_own_pointer(buffer)) {
    set_name(buffer->data.get(), name + ".data");
    defined_.insert(buffer->data.get());
  } else {
    *this << ", data=" << buffer->data;
  }
  if (!buffer->strides.empty()) *this << ", strides=" << buffer->strides;
  bool own_offset = is_own_offset(buffer);
  bool is_usual_offset = is_zero(buffer->elem_offset) && buffer->elem_offset->dtype == buffer->index_dtype();
  if (own_offset) {
    set_name(buffer->elem_offset.as<VarNode>(), name + ".elem_offset");
    defined_.insert(buffer->elem_offset.as<VarNode>());
  } else if (!is_usual_offset || buffer->offset_factor != 1) {
    *this << ", elem_offset=" << buffer->elem_offset;
  }
  if (std::string scope = buffer->scope(); scope != "global") *this << ", scope=" << quoted(scope);
  if (buffer->data_alignment != 64) *this << ", align=" << buffer->data_alignment;
  if (buffer->offset_factor != 1 || own_offset) *this << ", offset_factor=" << buffer->offset_factor;
  if (buffer->buffer_type != BufferType::Default) *this << ", type=\"auto\"";
  if (!buffer->axis_separators.empty()) *this << ", axis_separators=" << buffer->axis_separators;
}

void ScriptPrinter::declare_buffer(const BufferNode* buffer, std::string_view with) {
  mark_declared(buffer);
  (*this << name_of(buffer) << " = ").dialect(with) << "(" << buffer->shape;
  buffer_options(buffer);
  *this << ")";
}

bool ScriptPrinter::needs_scope(const BufferNode* buffer) const {
  auto is_local = [&](const PrimExpr& e) {
    return uses_var(e, [&](const VarNode* var) { return defined_.count(var) > 0; });
  };
  if (declared_.count(buffer)) return false;
  for (const Array<PrimExpr>& part : {buffer->shape, buffer->strides, Array<PrimExpr>{buffer->elem_offset}})
    for (const PrimExpr& e : part)
      if (is_local(e)) return true;
  return false;
}

void ScriptPrinter::declare_views(const VarNode* data) {
  auto it = views_.find(data);
  if (it == views_.end()) return;
  for (const BufferNode* buffer : it->second) {
    if (declared_.count(buffer)) continue;
    declare_buffer(buffer, "buffer_decl");
    newline();
  }
}

/// Which buffers are read or written through each pointer, in the order of the program; how often threads are launched.
void ScriptPrinter::look_through(const PrimFuncNode* function) {
  std::unordered_set<const BufferNode*> done;
  for (const auto& [_, buffer] : function->buffer_map) done.insert(buffer.get());
  auto use = [&](const Buffer& buffer) {
    if (done.insert(buffer.get()).second) views_[buffer->data.get()].push_back(buffer.get());
  };
  pre_order(function->body, [&](const Object* node) {
    if (auto* load = cast_or_null<BufferLoad>(node)) use(load->buffer);
    if (auto* store = cast_or_null<BufferStore>(node)) use(store->buffer);
    if (auto* decl = cast_or_null<DeclBuffer>(node)) done.insert(decl->buffer.get());
    if (auto* realize = cast_or_null<BufferRealize>(node)) done.insert(realize->buffer.get());
    if (auto* attr = cast_or_null<AttrStmt>(node)) {
      auto* realize = attr->body.as<BufferRealize>();
      if (auto* buffer = attr->node.as<BufferNode>(); buffer && !(realize && realize->buffer.get() == buffer))
        use(Buffer(buffer));
      if (auto* thread = attr->node.as<IterVarNode>()) {
        ++launches_[thread->var.get()];
        thread_tags_[thread->var->name.str()].insert(thread->thread_tag.str());
      }
    }
    if (auto* block = cast_or_null<BlockNode>(node)) {
      for (const Buffer& buffer : block->alloc_buffers) done.insert(buffer.get());
      for (const MatchBufferRegion& match : block->match_buffers) done.insert(match->buffer.get());
      for (const auto& regions : {block->reads, block->writes})
        for (const BufferRegion& region : regions) use(region->buffer);
      for (const MatchBufferRegion& match : block->match_buffers) use(match->source->buffer);
    }
    return true;
  });
}

std::string tvm_script(const ObjectRef& object, const std::string& prefix, bool) {
  ScriptPrinter printer(prefix);
  if (object.as<IRModuleNode>() || object.as<PrimFuncNode>())
    printer << "# from tvm.script import tir as " << prefix << "\n";
  if (auto* function = object.as<PrimFuncNode>()) {
    printer.function(function, "func");
    printer << "\n";
  } else {
    printer << object;
  }
  return std::move(printer.text);
}

static Globals script_globals{
    // script.AsTVMScript(mod, tir_prefix, show_meta)
    {"script.AsTVMScript", [](ObjectRef object, std::string prefix,
                              bool show_metadata) { return tvm_script(object, prefix, show_metadata); }},
};

}  // namespace tessera
