#include "tir/transform/simplify/simplify.h"

#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/flat_sequence.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

class StmtSimplifier {
 public:
  StmtSimplifier() {
    rewriter_.share_results(false);
    auto& on = rewriter_;
    on.on([this](const PrimExprNode* e) -> PrimExpr { return simple(PrimExpr(e)); });
    on.on([this](const For* op) -> Stmt { return on_loop(op); });
    on.on([this](const IfThenElse* op) -> Stmt { return on_if(op); });
    on.on([this](const LetStmt* op) -> Stmt { return on_let(op); });
    on.on([this](const AttrStmt* op) -> Stmt { return on_attr(op); });
    on.on([this](const AssertStmt* op) -> Stmt { return on_assert(op); });
    on.on([this](const BufferStore* op) -> Stmt { return on_store(op); });
    on.on([this](const BlockNode* op) -> Stmt { return on_block(op); });
    on.on(flat_sequence);
  }

  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  PrimExpr simple(const PrimExpr& e) {
    PrimExpr out = e;
    if (!values_.empty())
      out = substitute(e, [this](const Var& var) {
        auto it = values_.find(var.get());
        return it == values_.end() ? PrimExpr() : it->second;
      });
    return analyzer_.simplify(out);
  }

  /// What of a condition holds all through `body`: not what depends on memory that the body writes.
  static PrimExpr lasting(const PrimExpr& condition, const Stmt& body) {
    if (side_effect(condition) <= CallEffect::Pure) return condition;
    if (auto* both = condition.as<And>()) return logical_and(lasting(both->a, body), lasting(both->b, body));
    std::unordered_set<const VarNode*> read;
    walk(condition, [&](const BufferLoad* load) { read.insert(load->buffer->data.get()); });
    bool is_written = false;
    walk(
        body, [&](const BufferStore* store) { is_written |= read.count(store->buffer->data.get()) > 0; },
        [&](const Call* call) { is_written |= builtin::effect_of(call) > CallEffect::ReadState; });
    return is_written ? bool_imm(true) : condition;
  }

  Stmt on_loop(const For* op) {
    For out(*op);
    out.min = simple(op->min);
    out.extent = simple(op->extent);
    analyzer_.bind(op->loop_var, make_range(out.min, out.extent), true);
    out.body = rewriter_(op->body);
    bool same = out.min.same_as(op->min) && out.extent.same_as(op->extent) && out.body.same_as(op->body);
    return same ? Stmt(op) : Stmt(make(std::move(out)));
  }

  Stmt on_if(const IfThenElse* op) {
    PrimExpr condition = simple(op->condition);
    PrimExpr real = without_likely(condition);
    if (is_one(real)) return rewriter_(op->then_case);
    if (is_zero(real)) return op->else_case ? rewriter_(op->else_case) : make_nop();
    IfThenElse out(*op);
    out.condition = condition;
    {
      auto scope = analyzer_.assume(lasting(real, op->then_case));
      out.then_case = rewriter_(op->then_case);
    }
    if (op->else_case) {
      auto scope = analyzer_.assume(lasting(analyzer_.rewrite_simplify(logical_not(real)), op->else_case));
      out.else_case = rewriter_(op->else_case);
    }
    return make(std::move(out));
  }

  /// Constants and other variables are put in everywhere; so are integers, which are indices as a rule.
  static bool is_put_in(const PrimExpr& value) {
    if (is_const(value) || value.as<VarNode>()) return true;
    return value.dtype().is_int() && value.dtype().lanes == 1 && side_effect(value) <= CallEffect::Pure;
  }

  Stmt on_let(const LetStmt* op) {
    PrimExpr value = simple(op->value);
    if (!is_put_in(value)) {
      Stmt body = rewriter_(op->body);
      return make(LetStmt{.var = op->var, .value = value, .body = body});
    }
    values_[op->var.get()] = value;
    Stmt body = rewriter_(op->body);
    values_.erase(op->var.get());
    return body;
  }

  Stmt on_attr(const AttrStmt* op) {
    AttrStmt out(*op);
    out.value = simple(op->value);
    auto* axis = op->node.as<IterVarNode>();
    if (axis && (op->attr_key == attr::kThreadExtent || op->attr_key == attr::kVirtualThread))
      analyzer_.bind(axis->var, make_range(make_zero(out.value.dtype()), out.value), true);
    out.body = rewriter_(op->body);
    if (auto* var = op->node.as<VarNode>(); var && values_.count(var)) out.node = values_[var];
    return make(std::move(out));
  }

  Stmt on_assert(const AssertStmt* op) {
    AssertStmt out(*op);
    out.condition = simple(op->condition);
    out.message = simple(op->message);
    if (is_one(out.condition)) return rewriter_(op->body);
    auto scope = analyzer_.assume(lasting(without_likely(out.condition), op->body));
    out.body = rewriter_(op->body);
    return make(std::move(out));
  }

  Stmt on_store(const BufferStore* op) {
    Ref<BufferStore> out = rewriter_.children(op);
    auto* load = out->value.as<BufferLoad>();
    if (!load || !load->buffer.same_as(out->buffer) || load->indices.size() != out->indices.size()) return out;
    for (size_t i = 0; i < load->indices.size(); ++i)
      if (!analyzer_.can_prove_equal(load->indices[i], out->indices[i])) return out;
    return make_nop();  // what is there already
  }

  Stmt on_block(const BlockNode* op) {
    for (const IterVar& axis : op->iter_vars)
      if (axis->dom) analyzer_.bind(axis->var, axis->dom, true);
    return rewriter_.children(op);
  }

  Rewriter rewriter_;
  arith::Analyzer analyzer_;
  std::unordered_map<const VarNode*, PrimExpr> values_;
};

}  // namespace

/// Simplifies every expression with what is known where it stands: ranges of loops and threads, conditions of branches
/// and asserts, values of lets. Branches that cannot be taken disappear, integer lets are put in.
Stmt simplify(const Stmt& body) { return StmtSimplifier()(body); }

PrimExpr without_likely(const PrimExpr& condition) {
  auto* call = condition.as<Call>();
  return builtin::is(call, builtin::likely()) ? without_likely(call->args[0]) : condition;
}

}  // namespace tessera
