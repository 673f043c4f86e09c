// TVMScript of functions and modules. The body is printed first: only then is known what the head must define.

#include <algorithm>

#include "ir/rewrite.h"
#include "tir/print/script.h"

namespace tessera {
namespace {

/// The block around the whole body, where nothing about it needs saying.
const BlockNode* plain_root(const PrimFuncNode* function) {
  auto* realize = function->body.as<BlockRealize>();
  if (!realize || !realize->iter_values.empty() || !is_one(realize->predicate)) return nullptr;
  const BlockNode* block = realize->block.get();
  bool is_plain = block->annotations.empty() && block->reads.empty() && block->writes.empty() &&
                  block->match_buffers.empty() && !block->init;
  return is_plain ? block : nullptr;
}

bool has_variables(const PrimExpr& e) {
  return uses_var(e, [](const VarNode*) { return true; });
}

ScriptRows script_functions{
    [](ScriptPrinter& p, const PrimFuncNode* function) { p.function(function, "func"); },
    [](ScriptPrinter& p, const IRModuleNode* mod) { p.module(mod); },
};

}  // namespace

/// A parameter of this buffer can be written as T.Buffer[shape, dtype].
bool ScriptPrinter::is_simple(const BufferNode* buffer) const {
  if (!is_own_pointer(buffer) || !buffer->strides.empty() || !is_zero(buffer->elem_offset)) return false;
  if (buffer->elem_offset->dtype != buffer->index_dtype()) return false;
  for (const PrimExpr& extent : buffer->shape)
    if (has_variables(extent)) return false;
  return buffer->scope() == "global" && buffer->data_alignment == 64 && buffer->offset_factor == 1 &&
         buffer->buffer_type == BufferType::Default && buffer->axis_separators.empty();
}

/// The parameter list; `matched` receives the lines that match the other parameters with their buffers.
std::string ScriptPrinter::parameters(const PrimFuncNode* function, std::vector<std::string>* matched,
                                      std::vector<Buffer>* matched_buffers) {
  std::vector<std::pair<Var, Buffer>> unmatched;
  std::string out = captured([&] {
    bool first = true;
    for (const Var& param : function->params) {
      if (!first) *this << ", ";
      first = false;
      Buffer buffer = function->buffer_map.get_or_null(param);
      if (buffer && !param->type_annotation.as<PointerType>() && is_simple(buffer.get())) {
        const std::string name = name_of(buffer.get());
        (*this << name << ": ").dialect("Buffer") << "[";
        if (buffer->shape.size() == 1) *this << buffer->shape[0];
        else (*this << "(").list(buffer->shape) << ")";
        *this << ", " << quoted(buffer->dtype.str()) << "]";
        set_name(param.get(), name);
        set_name(buffer->data.get(), name + ".data");
        defined_.insert(buffer->data.get());
        defined_.insert(param.get());
        mark_declared(buffer.get());
      } else {
        define(param.get());
        *this << param << ": ";
        type(param.get());
        if (buffer) unmatched.emplace_back(param, buffer);
      }
    }
  });
  for (const auto& [param, buffer] : unmatched) {
    mark_declared(buffer.get());
    matched_buffers->push_back(buffer);
    matched->push_back(captured([&, &param = param, &buffer = buffer] {
      (*this << name_of(buffer.get()) << " = ").dialect("match_buffer") << "(" << param << ", " << buffer->shape;
      buffer_options(buffer.get());
      *this << ")";
    }));
  }
  for (const Var& param : function->params) {
    Buffer buffer = function->preflattened_buffer_map.get_or_null(param);
    Buffer flat = function->buffer_map.get_or_null(param);
    if (!buffer || !flat) continue;
    mark_declared(buffer.get());
    name_of(buffer.get());
    matched->push_back(captured([&] {
      dialect("preflattened_buffer") << "(" << flat << ", " << buffer->shape;
      buffer_options(buffer.get());
      *this << ")";
    }));
  }
  return out;
}

/// The lines before the body: attributes, variables and buffers used but nowhere defined, matched parameters. A buffer
/// that is a view of a matched one follows it.
void ScriptPrinter::function_head(const std::string& attrs, const std::string& matched,
                                  const std::vector<Buffer>& matched_buffers) {
  std::vector<const BufferNode*> free_buffers;
  for (const BufferNode* buffer : named_buffers_)
    if (!declared_.count(buffer)) free_buffers.push_back(buffer);
  std::sort(free_buffers.begin(), free_buffers.end(),
            [&](const BufferNode* a, const BufferNode* b) { return name_of(a) < name_of(b); });
  auto is_view = [&](const BufferNode* buffer) {
    return std::any_of(matched_buffers.begin(), matched_buffers.end(), [&](const Buffer& other) {
      return other->data.same_as(buffer->data) ||
             (other->elem_offset.as<VarNode>() && other->elem_offset.same_as(buffer->elem_offset));
    });
  };
  std::string views, buffers;
  for (const BufferNode* buffer : free_buffers) {
    std::string line = captured([&] {
      newline();
      declare_buffer(buffer, "buffer_decl");
    });
    (is_view(buffer) ? views : buffers) += line;
  }
  if (!buffers.empty()) buffers = captured([&] { newline(), *this << "# buffer definition"; }) + buffers;

  std::vector<std::string> lines;
  for (const auto& [var, tag] : threads_)
    lines.push_back(captured([&, var = var, &tag = tag] {
      (*this << name_of(var) << " = ").dialect("env_thread") << "(" << quoted(tag) << ")";
    }));
  std::sort(lines.begin(), lines.end());
  std::vector<std::string> free_vars;
  for (const auto& [var, name] : var_names_) {
    if (defined_.count(var)) continue;
    free_vars.push_back(captured([&, var = var, &name = name] {
      *this << name << " = ";
      declare_var(var);
    }));
  }
  std::sort(free_vars.begin(), free_vars.end());

  *this << attrs;
  if (!lines.empty()) newline(), *this << "# var definition";
  for (const std::string& line : lines) newline(), *this << line;
  for (const std::string& line : free_vars) newline(), *this << line;
  *this << buffers << matched << views;
}

/// T.var("int32"), T.buffer_var("float32", "shared"); what is neither by its type.
void ScriptPrinter::declare_var(const VarNode* var) {
  auto* pointer = var->type_annotation.as<PointerType>();
  auto* element = pointer ? pointer->element_type.as<PrimType>() : nullptr;
  if (element)
    dialect("buffer_var") << "(" << quoted(element->dtype.str()) << ", " << quoted(pointer->storage_scope) << ")";
  else if (pointer) dialect("var") << "(" << var->type_annotation << ")";
  else dialect("var") << "(" << quoted(var->dtype.str()) << ")";
}

void ScriptPrinter::function(const PrimFuncNode* function, const std::string& name) {
  var_names_.clear();
  buffer_names_.clear();
  named_buffers_.clear();
  defined_.clear();
  declared_.clear();
  threads_.clear();
  views_.clear();
  launches_.clear();
  thread_tags_.clear();
  look_through(function);

  (*this << "@").dialect("prim_func");
  newline();
  std::vector<std::string> matched_lines;
  std::vector<Buffer> matched_buffers;
  *this << "def " << name << "(" << parameters(function, &matched_lines, &matched_buffers) << ") -> "
        << function->ret_type << ":";
  nested([&] {
    std::string matched;
    for (const std::string& line : matched_lines) matched += captured([&] { newline(), *this << line; });
    std::string inside = captured([&] {
      newline();
      *this << "# body";
      newline();
      if (const BlockNode* root = plain_root(function); root && !is_marked(root)) {
        (*this << "# with ").dialect("block") << "(" << quoted(root->name_hint) << ")";
        for (const Buffer& buffer : root->alloc_buffers) {
          newline();
          declare_buffer(buffer.get(), "alloc_buffer");
        }
        newline();
        body(root->body);
      } else {
        body(function->body);
      }
    });
    std::string attrs = captured([&] {
      if (!function->attrs || function->attrs->dict.empty()) return;
      newline();
      *this << "# function attr dict";
      newline();
      dialect("func_attr") << "(";
      dictionary(function->attrs->dict, ": ");
      *this << ")";
    });
    function_head(attrs, matched, matched_buffers);
    *this << inside;
  });
}

void ScriptPrinter::module(const IRModuleNode* mod) {
  *this << "@tvm.script.ir_module";
  newline();
  *this << "class Module:";
  nested([&] {
    bool first = true;
    for (const auto& [var, function] : IRModule(mod).sorted_functions()) {
      auto* program = function.as<PrimFuncNode>();
      if (!program)
        throw Error(NotImplementedError) << "TVMScript has no form for @" << var->name_hint << ", a "
                                         << function->type_key();
      if (!first) *this << "\n";
      first = false;
      newline();
      this->function(program, var->name_hint.str());
    }
  });
  *this << "\n\n";
}

}  // namespace tessera
