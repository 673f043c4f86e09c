#include "tir/analysis/var_use.h"

#include <unordered_set>

#include "ir/rewrite.h"
#include "tir/attrs.h"

namespace tessera {
namespace {

class Finder {
 public:
  explicit Finder(const std::vector<Var>& defined) {
    for (const Var& var : defined) defined_.insert(var.get());
    visitor_.share_results(false);
    auto& on = visitor_;
    on.on([this](const VarNode* var) -> PrimExpr { return use(var), PrimExpr(var); });
    on.on([this](const BufferLoad* op) -> PrimExpr {
      use(op->buffer->data.get());
      return visitor_.children(op);
    });
    on.on([this](const BufferStore* op) -> Stmt {
      use(op->buffer->data.get());
      return visitor_.children(op);
    });
    on.on([this](const LetStmt* op) -> Stmt { return visit(op->value), inside(op->var, op->body), Stmt(op); });
    on.on([this](const Let* op) -> PrimExpr { return visit(op->value), inside(op->var, op->body), PrimExpr(op); });
    on.on([this](const For* op) -> Stmt {
      visit(op->min), visit(op->extent);
      return inside(op->loop_var, op->body), Stmt(op);
    });
    on.on([this](const Allocate* op) -> Stmt {
      visit(op->extents), visit(op->condition);
      return inside(op->buffer_var, op->body), Stmt(op);
    });
    on.on([this](const AllocateConst* op) -> Stmt { return inside(op->buffer_var, op->body), Stmt(op); });
    on.on([this](const BufferRealize* op) -> Stmt {
      visit(op->bounds);
      return inside(op->buffer->data, op->body), Stmt(op);
    });
    on.on([this](const AttrStmt* op) -> Stmt { return on_attr(op), Stmt(op); });
    on.on([this](const BlockNode* op) -> Stmt { return on_block(op), Stmt(op); });
    on.on([this](const Reduce* op) -> PrimExpr {
      for (const IterVar& axis : op->axis) defined_.insert(axis->var.get());
      return visitor_.children(op);
    });
  }

  void visit(const ObjectRef& node) { visitor_(node); }
  VarUse take() { return std::move(found_); }

 private:
  void use(const VarNode* var) {
    if (defined_.count(var) || !reported_.insert(var).second) return;
    found_.undefined.push_back(Var(var));
  }

  void inside(const Var& var, const ObjectRef& body) {
    bool is_new = defined_.insert(var.get()).second;
    visit(body);
    if (is_new) defined_.erase(var.get());
  }

  void on_attr(const AttrStmt* op) {
    visit(op->value);
    if (op->attr_key == attr::kBufferBindScope) {
      auto* pair = op->node.as<ArrayNode>();
      return with_view(downcast<Buffer>(pair->items[0]), op->body);
    }
    IterVar axis = downcast_or_null<IterVar>(op->node);
    bool binds = axis && (op->attr_key == attr::kThreadExtent || op->attr_key == attr::kVirtualThread);
    if (!binds) return visit(op->body);  // saying something about a variable is no use of it
    if (op->attr_key == attr::kThreadExtent && thread_vars_.insert(axis->var.get()).second) {
      found_.thread_axes.push_back(axis);
      found_.thread_extents.push_back(op->value);
    }
    inside(axis->var, op->body);
  }

  /// Variables in scope of a statement, taken back at its end.
  struct Added {
    Finder* self;
    std::vector<const VarNode*> vars;
    void operator()(const Var& var) {
      if (self->defined_.insert(var.get()).second) vars.push_back(var.get());
    }
    /// A view brings its pointer and the variables of its shape, strides and offset.
    void view(const Buffer& buffer) {
      (*this)(buffer->data);
      for (const Array<PrimExpr>& part : {buffer->shape, buffer->strides})
        for (const PrimExpr& e : part)
          if (Var var = downcast_or_null<Var>(e)) (*this)(var);
      if (Var var = downcast_or_null<Var>(buffer->elem_offset)) (*this)(var);
    }
    ~Added() {
      for (const VarNode* var : vars) self->defined_.erase(var);
    }
  };

  void with_view(const Buffer& view, const Stmt& body) {
    Added define{this, {}};
    define.view(view);
    visit(body);
  }

  void on_block(const BlockNode* op) {
    Added define{this, {}};
    for (const IterVar& axis : op->iter_vars) define(axis->var);
    for (const Buffer& buffer : op->alloc_buffers) define(buffer->data);
    for (const MatchBufferRegion& match : op->match_buffers) {
      visit(match->source->region);
      define.view(match->buffer);
    }
    visit(op->init);
    visit(op->body);
  }

  Rewriter visitor_;
  VarUse found_;
  std::unordered_set<const VarNode*> defined_, reported_, thread_vars_;
};

}  // namespace

VarUse find_var_use(const Stmt& stmt, const std::vector<Var>& defined) {
  Finder finder(defined);
  finder.visit(stmt);
  return finder.take();
}

VarUse find_var_use(const PrimExpr& e, const std::vector<Var>& defined) {
  Finder finder(defined);
  finder.visit(e);
  return finder.take();
}

}  // namespace tessera
