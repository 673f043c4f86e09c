#include "tir/analysis/convert_ssa.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera {
namespace {

class Converter {
 public:
  Converter() {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const VarNode* var) -> PrimExpr { return current(Var(var)); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      Buffer buffer = current(op->buffer);
      Array<PrimExpr> indices = rewriter_(op->indices);
      if (buffer.same_as(op->buffer) && indices.same_as(op->indices)) return PrimExpr(op);
      return make_load(buffer, indices);
    });
    on.on([this](const BufferStore* op) -> Stmt {
      Ref<BufferStore> out = rewriter_.children(op);
      return with(out, &BufferStore::buffer, current(op->buffer));
    });
    on.on([this](const LetStmt* op) -> Stmt {
      PrimExpr value = rewriter_(op->value);
      return define(op->var, [&](const Var& var) -> Stmt {
        return make(LetStmt{.var = var, .value = value, .body = rewriter_(op->body)});
      });
    });
    on.on([this](const Let* op) -> PrimExpr {
      PrimExpr value = rewriter_(op->value);
      return define(op->var, [&](const Var& var) -> PrimExpr { return make_let(var, value, rewriter_(op->body)); });
    });
    on.on([this](const For* op) -> Stmt {
      For out(*op);
      out.min = rewriter_(op->min);
      out.extent = rewriter_(op->extent);
      return define(op->loop_var, [&](const Var& var) -> Stmt {
        out.loop_var = var;
        out.body = rewriter_(op->body);
        return make(std::move(out));
      });
    });
    on.on([this](const Allocate* op) -> Stmt {
      Allocate out(*op);
      out.extents = rewriter_(op->extents);
      out.condition = rewriter_(op->condition);
      return define(op->buffer_var, [&](const Var& var) -> Stmt {
        out.buffer_var = var;
        out.body = rewriter_(op->body);
        return make(std::move(out));
      });
    });
    on.on([this](const AttrStmt* op) -> Stmt {
      Ref<AttrStmt> out = rewriter_.children(op);
      if (Var var = downcast_or_null<Var>(op->node)) return with(out, &AttrStmt::node, ObjectRef(current(var)));
      return out;
    });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Var current(const Var& var) const {
    auto it = renamed_.find(var.get());
    return it == renamed_.end() ? var : it->second;
  }
  Buffer current(const Buffer& buffer) {
    Var data = current(buffer->data);
    if (data.same_as(buffer->data)) return buffer;
    auto [it, is_new] = buffers_.try_emplace({buffer.get(), data.get()}, buffer, Buffer());
    if (is_new) it->second.second = with(buffer, &BufferNode::data, data);
    return it->second.second;
  }

  template <class F>
  std::invoke_result_t<F, const Var&> define(const Var& var, F build) {
    if (defined_.insert(var.get()).second) {
      keep_.push_back(var);
      return build(var);
    }
    Var fresh = make(VarNode(*var.get()));
    Var outer = current(var);
    renamed_[var.get()] = fresh;
    std::invoke_result_t<F, const Var&> out = build(fresh);
    if (outer.same_as(var)) renamed_.erase(var.get());
    else renamed_[var.get()] = outer;
    return out;
  }

  struct PairHash {
    size_t operator()(const std::pair<const void*, const void*>& p) const {
      return std::hash<const void*>()(p.first) * 31 + std::hash<const void*>()(p.second);
    }
  };

  Rewriter rewriter_;
  std::unordered_set<const VarNode*> defined_;
  std::vector<Var> keep_;
  std::unordered_map<const VarNode*, Var> renamed_;
  std::unordered_map<std::pair<const void*, const void*>, std::pair<Buffer, Buffer>, PairHash> buffers_;
};

}  // namespace

Stmt convert_ssa(const Stmt& body) { return Converter()(body); }

}  // namespace tessera
