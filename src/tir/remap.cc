#include "tir/remap.h"

namespace tessera {
namespace {

/// A copy of `node` with members set by `change`.
template <class T, class F>
Ref<T> changed(const T* node, F change) {
  T copy(*node);
  change(copy);
  return make(std::move(copy));
}

}  // namespace

Remap::Remap(Replace replace) : replace_(std::move(replace)) {
  rewriter_.on([this](const VarNode* var) -> PrimExpr {
    if (auto it = new_vars_.find(var); it != new_vars_.end()) return it->second;
    PrimExpr out = replace_(Var(var));
    return out ? out : PrimExpr(var);
  });
  add_statements();
  add_definitions();
  add_blocks();
}

Var Remap::define(const Var& var) {
  if (!renew_) return var;
  auto [it, is_new] = new_vars_.try_emplace(var.get());
  if (is_new) {
    it->second = Var(static_cast<const VarNode*>(var->type()->copy(var.get())));
  }
  return it->second;
}

Buffer Remap::define(const Buffer& buffer) { return mapped(buffer, true); }

IterVar Remap::define(const IterVar& iter_var) {
  if (!iter_var) return iter_var;
  Range dom = iter_var->dom ? rewriter_(iter_var->dom) : iter_var->dom;
  Var var = define(iter_var->var);
  if (dom.same_as(iter_var->dom) && var.same_as(iter_var->var)) return iter_var;
  return changed(iter_var.get(), [&](IterVarNode& node) {
    node.dom = dom;
    node.var = var;
  });
}

Buffer Remap::operator()(const Buffer& buffer) { return mapped(buffer, false); }

Buffer Remap::mapped(const Buffer& buffer, bool is_definition) {
  if (!buffer) return buffer;
  if (auto it = buffers_.find(buffer.get()); it != buffers_.end()) return it->second.second;
  Var data = is_definition ? define(buffer->data) : buffer->data;
  if (!is_definition) {
    if (Var other = downcast_or_null<Var>(rewriter_(PrimExpr(buffer->data)))) data = other;
  }
  if (is_definition && renew_) {  // variables that only the buffer mentions are introduced by it
    for (const auto& part : {buffer->shape, buffer->strides, Array<PrimExpr>{buffer->elem_offset}})
      for (const PrimExpr& e : part)
        if (Var var = downcast_or_null<Var>(e)) define(var);
  }
  Array<PrimExpr> shape = rewriter_(buffer->shape), strides = rewriter_(buffer->strides);
  PrimExpr offset = rewriter_(buffer->elem_offset);
  Buffer out = buffer;
  bool is_same = data.same_as(buffer->data) && shape.same_as(buffer->shape) && strides.same_as(buffer->strides) &&
                 offset.same_as(buffer->elem_offset);
  if (!is_same || (is_definition && renew_)) {
    out = changed(buffer.get(), [&](BufferNode& node) {
      node.data = data;
      node.shape = shape;
      node.strides = strides;
      node.elem_offset = offset;
    });
  }
  buffers_.emplace(buffer.get(), std::pair(buffer, out));
  return out;
}

/// Statements and expressions that use buffers.
void Remap::add_statements() {
  rewriter_.on([this](Rewriter& self, const BufferLoad* load) -> PrimExpr {
    Buffer buffer = (*this)(load->buffer);
    return with(self.children(load), &BufferLoad::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const BufferStore* store) -> Stmt {
    Buffer buffer = (*this)(store->buffer);
    return with(self.children(store), &BufferStore::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const Prefetch* prefetch) -> Stmt {
    Buffer buffer = (*this)(prefetch->buffer);
    return with(self.children(prefetch), &Prefetch::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const BufferRegionNode* region) -> BufferRegion {
    Buffer buffer = (*this)(region->buffer);
    return with(self.children(region), &BufferRegionNode::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const AttrStmt* attr) -> Stmt {
    ObjectRef node = attr->node;
    if (auto* iter_var = node.as<IterVarNode>()) node = define(IterVar(iter_var));
    else if (auto* buffer = node.as<BufferNode>()) node = (*this)(Buffer(buffer));
    else if (auto* var = node.as<VarNode>()) node = self(PrimExpr(var));
    return with(self.children(attr), &AttrStmt::node, node);
  });
}

/// Statements and expressions that introduce variables.
void Remap::add_definitions() {
  rewriter_.on([this](Rewriter& self, const For* loop) -> Stmt {
    Var var = define(loop->loop_var);
    IterVar binding = define(loop->thread_binding);
    Ref<For> out = with(self.children(loop), &For::loop_var, var);
    return with(out, &For::thread_binding, binding);
  });
  rewriter_.on([this](Rewriter& self, const LetStmt* let) -> Stmt {
    Var var = define(let->var);
    return with(self.children(let), &LetStmt::var, var);
  });
  rewriter_.on([this](Rewriter& self, const Let* let) -> PrimExpr {
    Var var = define(let->var);
    return with(self.children(let), &Let::var, var);
  });
  rewriter_.on([this](Rewriter& self, const Allocate* allocate) -> Stmt {
    Var var = define(allocate->buffer_var);
    return with(self.children(allocate), &Allocate::buffer_var, var);
  });
  rewriter_.on([this](Rewriter& self, const AllocateConst* allocate) -> Stmt {
    Var var = define(allocate->buffer_var);
    return with(self.children(allocate), &AllocateConst::buffer_var, var);
  });
  rewriter_.on([this](Rewriter& self, const DeclBuffer* declare) -> Stmt {
    Buffer buffer = (*this)(declare->buffer);
    return with(self.children(declare), &DeclBuffer::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const BufferRealize* realize) -> Stmt {
    Buffer buffer = define(realize->buffer);
    return with(self.children(realize), &BufferRealize::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const Reduce* reduce) -> PrimExpr {
    Array<IterVar> axis = reduce->axis;
    for (size_t i = 0; i < axis.size(); ++i)
      if (IterVar made = define(axis[i]); !made.same_as(axis[i])) axis.set(i, made);
    return with(self.children(reduce), &Reduce::axis, axis);
  });
}

void Remap::add_blocks() {
  rewriter_.on([this](Rewriter& self, const MatchBufferRegionNode* match) -> MatchBufferRegion {
    Buffer buffer = define(match->buffer);
    return with(self.children(match), &MatchBufferRegionNode::buffer, buffer);
  });
  rewriter_.on([this](Rewriter& self, const BlockNode* block) -> Stmt {
    Array<IterVar> iter_vars = block->iter_vars;
    for (size_t i = 0; i < iter_vars.size(); ++i)
      if (IterVar made = define(iter_vars[i]); !made.same_as(iter_vars[i])) iter_vars.set(i, made);
    Array<Buffer> alloc_buffers = block->alloc_buffers;
    for (size_t i = 0; i < alloc_buffers.size(); ++i)
      if (Buffer made = define(alloc_buffers[i]); !made.same_as(alloc_buffers[i])) alloc_buffers.set(i, made);
    for (const MatchBufferRegion& match : block->match_buffers) define(match->buffer);
    Block out = with(self.children(block), &BlockNode::iter_vars, iter_vars);
    return with(out, &BlockNode::alloc_buffers, alloc_buffers);
  });
}

PrimFunc Remap::operator()(const PrimFunc& function) {
  PrimFuncNode copy(*function.get());
  for (size_t i = 0; i < copy.params.size(); ++i) {
    Var param = define(function->params[i]);
    if (!param.same_as(function->params[i])) copy.params.set(i, param);
  }
  auto map_buffers = [&](const Map<Var, Buffer>& buffers) {
    Map<Var, Buffer> out;
    for (const auto& [var, buffer] : buffers) out.set(define(var), define(buffer));
    return out;
  };
  copy.buffer_map = map_buffers(function->buffer_map);
  copy.preflattened_buffer_map = map_buffers(function->preflattened_buffer_map);
  copy.body = (*this)(function->body);
  return make(std::move(copy));
}

PrimFunc renew_definitions(const PrimFunc& function) {
  Remap remap([](const Var&) { return PrimExpr(); });
  remap.renew_definitions();
  return remap(function);
}

}  // namespace tessera
