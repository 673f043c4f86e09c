#include "tir/transform/simplify/retype.h"

#include "ir/builtin.h"
#include "ir/prim/ops.h"

namespace tessera {

Retype::Retype(std::function<DataType(DataType)> stored) : stored_(std::move(stored)) {
  rewriter.share_results(false);
  rewriter.on([this](const VarNode* var) -> PrimExpr { return renamed(Var(var)); });
  rewriter.on(
      [this](const BufferLoad* op) -> PrimExpr { return make_load(lowered(op->buffer), rewriter(op->indices)); });
  rewriter.on([this](const BufferStore* op) -> Stmt {
    return make(
        BufferStore{.buffer = lowered(op->buffer), .value = rewriter(op->value), .indices = rewriter(op->indices)});
  });
  rewriter.on([this](const DeclBuffer* op) -> Stmt {
    return make(DeclBuffer{.buffer = lowered(op->buffer), .body = rewriter(op->body)});
  });
  rewriter.on([this](const Allocate* op) -> Stmt {
    Ref<Allocate> children = rewriter.children(op);
    Allocate out(*children.get());
    out.dtype = stored_(op->dtype);
    out.buffer_var = renamed(op->buffer_var);
    return make(std::move(out));
  });
  rewriter.on([this](const BlockNode* op) -> Stmt {
    Ref<BlockNode> children = rewriter.children(op);
    BlockNode out(*children.get());
    for (size_t i = 0; i < out.alloc_buffers.size(); ++i) out.alloc_buffers.set(i, lowered(op->alloc_buffers[i]));
    for (Array<BufferRegion>* regions : {&out.reads, &out.writes})
      for (size_t i = 0; i < regions->size(); ++i)
        regions->set(i, with((*regions)[i], &BufferRegionNode::buffer, lowered((*regions)[i]->buffer)));
    for (size_t i = 0; i < out.match_buffers.size(); ++i) {
      MatchBufferRegion view = out.match_buffers[i];
      BufferRegion source = with(view->source, &BufferRegionNode::buffer, lowered(view->source->buffer));
      view = with(view, &MatchBufferRegionNode::source, source);
      out.match_buffers.set(i, with(view, &MatchBufferRegionNode::buffer, lowered(view->buffer)));
    }
    return make(std::move(out));
  });
  rewriter.on([this](const LetStmt* op) -> Stmt {
    return make(LetStmt{.var = renamed(op->var), .value = rewriter(op->value), .body = rewriter(op->body)});
  });
  rewriter.on([this](const Let* op) -> PrimExpr {
    return make_let(renamed(op->var), rewriter(op->value), rewriter(op->body));
  });
  rewriter.on([this](const AttrStmt* op) -> Stmt {
    Ref<AttrStmt> out = rewriter.children(op);
    if (Var var = downcast_or_null<Var>(op->node)) return with(out, &AttrStmt::node, ObjectRef(renamed(var)));
    return out;
  });
  rewriter.on([this](const Select* op) -> PrimExpr {
    return make_select(rewriter(op->condition), rewriter(op->true_value), rewriter(op->false_value));
  });
  rewriter.on([this](const Broadcast* op) -> PrimExpr { return make_broadcast(rewriter(op->value), op->lanes); });
  rewriter.on(
      [this](const Shuffle* op) -> PrimExpr { return make_shuffle(rewriter(op->vectors), rewriter(op->indices)); });
  rewriter.on([this](const Call* op) -> PrimExpr {
    Ref<Call> out = rewriter.children(op);
    DataType dtype = stored_(op->dtype);
    return dtype == op->dtype ? PrimExpr(out) : make_call(dtype, op->op, out->args);
  });
}

PrimFunc Retype::operator()(const PrimFunc& function) {
  PrimFuncNode out(*function.get());
  Map<Var, Buffer> buffers;
  for (const auto& [param, buffer] : function->buffer_map) {
    buffers.set(param, lowered(buffer));
  }
  // As callers see them, these keep their types.
  Map<Var, Buffer> shaped;
  for (const auto& [param, buffer] : function->preflattened_buffer_map)
    shaped.set(param, with(buffer, &BufferNode::data, renamed(buffer->data)));
  out.preflattened_buffer_map = shaped;
  Array<Var> params;
  for (const Var& param : function->params) params.push_back(renamed(param));
  out.params = params;
  out.buffer_map = buffers;
  out.body = rewriter(function->body);
  return make(std::move(out));
}

bool Retype::applies_to(const PrimFunc& function) const {
  bool found = false;
  auto look = [&](DataType dtype) { found = found || stored_(dtype) != dtype; };
  for (const auto& [param, buffer] : function->buffer_map) look(buffer->dtype);
  walk(
      function->body, [&](const PrimExprNode* e) { look(e->dtype); },
      [&](const BufferStore* op) { look(op->buffer->dtype); }, [&](const Allocate* op) { look(op->dtype); });
  return found;
}

Var Retype::renamed(const Var& var) {
  auto it = vars_.find(var.get());
  if (it != vars_.end()) return it->second.second;
  Var out = var;
  auto* pointer = var->type_annotation.as<PointerType>();
  auto* element = pointer ? pointer->element_type.as<PrimType>() : nullptr;
  if (element && stored_(element->dtype) != element->dtype)
    out = make_var(var->name, pointer_type(stored_(element->dtype), pointer->storage_scope));
  else if (stored_(var->dtype) != var->dtype) out = make_var(var->name, stored_(var->dtype));
  vars_[var.get()] = {var, out};
  return out;
}

Buffer Retype::lowered(const Buffer& buffer) {
  auto it = buffers_.find(buffer.get());
  if (it != buffers_.end()) return it->second.second;
  Buffer out = buffer;
  Var data = renamed(buffer->data);
  if (stored_(buffer->dtype) != buffer->dtype || !data.same_as(buffer->data)) {
    BufferNode node(*buffer.get());
    node.dtype = stored_(buffer->dtype);
    node.data = data;
    out = make(std::move(node));
  }
  buffers_[buffer.get()] = {buffer, out};
  return out;
}

}  // namespace tessera
