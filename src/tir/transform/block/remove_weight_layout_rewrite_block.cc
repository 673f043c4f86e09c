// Blocks that lay out weights, which were laid out beforehand, disappear.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {

/// A block marked "meta_schedule.layout_rewrite_preproc" copies a parameter into another layout. Callers pass the parameter
/// in that layout, so the copy goes and its consumers read the parameter.
PrimFunc remove_weight_layout_rewrite_block(const PrimFunc& function) {
  std::unordered_map<const VarNode*, Buffer> params;  // the copies, by the pointer of what they copy
  Stmt body = rewrite(function->body, [&](Rewriter& self, const BlockNode* op) -> Stmt {
    if (!op->annotations.get_or_null(attr::kLayoutRewritePreproc)) return self.children(op);
    auto* store = op->body.as<BufferStore>();
    auto* load = store ? store->value.as<BufferLoad>() : nullptr;
    if (!load) throw Error(ValueError) << "block " << op->name_hint << " is marked as a copy of a weight and is none";
    params[load->buffer->data.get()] = store->buffer;
    BlockNode out(*op);
    out.reads = out.writes = {};
    out.body = make_nop();
    return make(std::move(out));
  });
  if (params.empty()) return function;
  // The parameter takes the copy's shape and keeps its own pointer.
  std::unordered_map<const BufferNode*, Buffer> moved;
  PrimFuncNode out(*function.get());
  for (const Var& param : function->params) {
    Buffer buffer = function->buffer_map.get_or_null(param);
    auto copy = buffer ? params.find(buffer->data.get()) : params.end();
    if (copy == params.end()) continue;
    BufferNode node(*copy->second.get());
    node.data = buffer->data;
    node.name = buffer->name;
    moved[copy->second.get()] = make(std::move(node));
    out.buffer_map.set(param, moved[copy->second.get()]);
  }
  auto now = [&](const Buffer& buffer) {
    auto it = moved.find(buffer.get());
    return it == moved.end() ? buffer : it->second;
  };
  out.body = rewrite(
      body,
      [&](Rewriter& self, const BufferLoad* op) -> PrimExpr { return make_load(now(op->buffer), self(op->indices)); },
      [&](Rewriter& self, const BufferRegionNode* op) -> BufferRegion {
        return with(self.children(op), &BufferRegionNode::buffer, now(op->buffer));
      },
      [&](Rewriter& self, const BlockNode* op) -> Stmt {
        BlockNode block(*self.children(op).get());
        Array<Buffer> kept;
        for (const Buffer& buffer : op->alloc_buffers)
          if (!moved.count(buffer.get())) kept.push_back(buffer);
        block.alloc_buffers = kept;
        return make(std::move(block));
      });
  return make(std::move(out));
}

}  // namespace tessera
