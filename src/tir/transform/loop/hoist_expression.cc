// Conditions and bindings that do not change in a loop are moved out of it.
//
//   for i: { if c: S(i) else: T(i) }          =>     if c: for i: S(i)   else: for i: T(i)
//   for i: A[i] = if_then_else(c, x, y)       =>     if c: for i: A[i] = x   else: for i: A[i] = y
//   for i: let x = v: S(i, x)                 =>     let x = v: for i: S(i, x)
//   for i: A[i] = (let x = v in f(i, x))      =>     let x = v: for i: A[i] = f(i, x)
//
// The configuration "tir.HoistExpression" says which kinds. What reads memory stays, and so does a division by what may be
// zero: the loop may not run.

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"
#include "tir/analysis/convert_ssa.h"
#include "tir/analysis/may_fail.h"
#include "tir/attrs.h"
#include "tir/flat_sequence.h"
#include "tir/transform/config.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

enum Conditionals { kIfElseStmt = 1, kIfElseExpr = 2, kBooleanExpression = 4, kUsingBlockVar = 8 };
enum LetBindings { kRequiredByCondition = 1, kLetStmt = 2, kLetExpr = 4 };

/// Each condition doubles the copies of the loop; a loop is copied for so many at most.
constexpr size_t kMaxConditions = 5;

/// `stmt` where `condition` is known: its occurrences become constants, and ways that are not gone disappear.
Stmt assuming(const Stmt& stmt, const PrimExpr& condition, bool holds) {
  PrimExpr value = bool_imm(holds);
  auto known = [&](const PrimExpr& e) { return e.dtype().is_bool() && expr_equal(e, condition); };
  Rewriter rewriter;
  rewriter.on([&](Rewriter& self, const IfThenElse* op) -> Stmt {
    if (!known(op->condition)) return self.children(op);
    if (holds) return self(op->then_case);
    return op->else_case ? self(op->else_case) : make_nop();
  });
  rewriter.on([&](Rewriter& self, const Call* op) -> PrimExpr {
    if (is_call(op, "tir.if_then_else") && known(op->args[0])) return self(op->args[holds ? 1 : 2]);
    return known(PrimExpr(op)) ? value : PrimExpr(self.children(op));
  });
  rewriter.on([&](Rewriter& self, const Select* op) -> PrimExpr {
    if (known(op->condition)) return self(holds ? op->true_value : op->false_value);
    return self.children(op);
  });
  rewriter.on([&](Rewriter& self, const Not* op) -> PrimExpr {
    return known(PrimExpr(op)) ? value : PrimExpr(self.children(op));
  });
  rewriter.on([&](Rewriter& self, const BinaryNode* op) -> PrimExpr {
    if (known(PrimExpr(op))) return value;
    Ref<BinaryNode> out = self.children(op);
    if (out.as<And>()) return logical_and(out->a, out->b);
    if (out.as<Or>()) return logical_or(out->a, out->b);
    return out;
  });
  rewriter.on(flat_sequence);
  return rewriter(stmt);
}

using Bindings = std::vector<std::pair<Var, PrimExpr>>;

class Hoister {
 public:
  Hoister(int conditionals, int lets) : conditionals_(conditionals), lets_(lets) {
    rewriter_.share_results(false);
    rewriter_.on([this](const AttrStmt* op) -> Stmt {
      auto* axis = op->node.as<IterVarNode>();
      if (axis && op->attr_key == attr::kThreadExtent) thread_vars_.insert(axis->var.get());
      return rewriter_.children(op);
    });
    rewriter_.on([this](const For* op) -> Stmt { return outside(rewriter_.children(op)); });
  }
  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  Stmt outside(const Ref<For>& loop) {
    Bindings lets, let_exprs;
    Stmt body = without_lets(loop, &lets);
    if (lets_ & kLetExpr) body = without_let_exprs(body, loop->loop_var, &let_exprs);
    std::vector<PrimExpr> conditions = conditions_of(body, loop->loop_var);
    if (!(lets_ & kLetStmt)) put_back(&lets, conditions, &body);
    lets.insert(lets.end(), let_exprs.begin(), let_exprs.end());
    Stmt out = split(with(loop, &For::body, body), conditions, 0);
    for (size_t i = lets.size(); i-- > 0;)
      out = make(LetStmt{.var = lets[i].first, .value = lets[i].second, .body = out});
    return out;
  }

  Stmt split(const Stmt& loop, const std::vector<PrimExpr>& conditions, size_t at) {
    if (at == conditions.size() || is_nop(loop)) return loop;
    Stmt yes = split(assuming(loop, conditions[at], true), conditions, at + 1);
    Stmt no = split(assuming(loop, conditions[at], false), conditions, at + 1);
    bool no_else = is_empty(no);
    if (no_else && is_empty(yes)) return make_nop();
    if (is_empty(yes)) return make(IfThenElse{.condition = logical_not(conditions[at]), .then_case = no});
    return make(IfThenElse{.condition = conditions[at], .then_case = yes, .else_case = no_else ? Stmt() : no});
  }

  /// Loops around nothing.
  static bool is_empty(const Stmt& stmt) {
    const Stmt* inside = &stmt;
    while (auto* loop = inside->as<For>()) inside = &loop->body;
    return is_nop(*inside);
  }

  /// The body without the bindings it begins with that may leave the loop.
  Stmt without_lets(const Ref<For>& loop, Bindings* lets) const {
    if (!(lets_ & (kLetStmt | kRequiredByCondition))) return loop->body;
    std::vector<const LetStmt*> kept;
    std::unordered_set<const VarNode*> inner{loop->loop_var.get()};
    Stmt body = loop->body;
    while (auto* let = body.as<LetStmt>()) {
      if (can_leave(let->value, inner)) {
        lets->push_back({let->var, let->value});
      } else {
        kept.push_back(let);
        inner.insert(let->var.get());
      }
      body = let->body;
    }
    for (size_t i = kept.size(); i-- > 0;)
      body = make(LetStmt{.var = kept[i]->var, .value = kept[i]->value, .body = body});
    return body;
  }

  /// Bindings that no condition needs stay where they were.
  static void put_back(Bindings* lets, const std::vector<PrimExpr>& conditions, Stmt* body) {
    std::unordered_set<const VarNode*> needed;
    auto need = [&](const PrimExpr& e) { walk(e, [&](const VarNode* var) { needed.insert(var); }); };
    for (const PrimExpr& condition : conditions) need(condition);
    Bindings stay, leave;
    for (size_t i = lets->size(); i-- > 0;) {
      bool is_needed = needed.count((*lets)[i].first.get()) > 0;
      if (is_needed) need((*lets)[i].second);
      (is_needed ? leave : stay).push_back((*lets)[i]);
    }
    for (const auto& [var, value] : stay) *body = make(LetStmt{.var = var, .value = value, .body = *body});
    lets->assign(leave.rbegin(), leave.rend());
  }

  /// The body without the bindings inside its expressions that may leave the loop.
  Stmt without_let_exprs(const Stmt& body, const Var& loop_var, Bindings* lets) const {
    std::unordered_set<const VarNode*> inner = defined_in(body, loop_var);
    Rewriter rewriter;
    rewriter.share_results(false);
    rewriter.on([&](Rewriter& self, const Let* op) -> PrimExpr {
      PrimExpr value = self(op->value);
      if (!can_leave(value, inner)) return make_let(op->var, value, self(op->body));
      inner.erase(op->var.get());  // it is outside now, for the bindings that use it
      lets->push_back({op->var, value});
      return self(op->body);
    });
    return rewriter(body);
  }

  /// The variables that belong to the loop: its own and those that its body defines.
  static std::unordered_set<const VarNode*> defined_in(const Stmt& body, const Var& loop_var) {
    std::unordered_set<const VarNode*> inner{loop_var.get()};
    pre_order(body, [&](const Object* node) {
      if (auto* loop = cast_or_null<For>(node)) inner.insert(loop->loop_var.get());
      if (auto* let = cast_or_null<LetStmt>(node)) inner.insert(let->var.get());
      if (auto* let = cast_or_null<Let>(node)) inner.insert(let->var.get());
      if (auto* block = cast_or_null<BlockNode>(node))
        for (const IterVar& axis : block->iter_vars) inner.insert(axis->var.get());
      if (auto* attr = cast_or_null<AttrStmt>(node))
        if (auto* axis = attr->node.as<IterVarNode>()) inner.insert(axis->var.get());
      return true;
    });
    return inner;
  }

  bool can_leave(const PrimExpr& e, const std::unordered_set<const VarNode*>& inner) const {
    return side_effect(e) <= CallEffect::Pure && !may_fail(e) &&
           !uses_var(e, [&](const VarNode* var) { return inner.count(var) > 0; });
  }

  /// The conditions in `body` that depend on nothing that the loop defines, in order, each once.
  std::vector<PrimExpr> conditions_of(const Stmt& body, const Var& loop_var) const {
    std::unordered_set<const VarNode*> inner = defined_in(body, loop_var);
    std::vector<PrimExpr> out;
    auto offer = [&](PrimExpr condition) {
      if (auto* call = condition.as<Call>(); call && is_call(call, "tir.likely")) condition = call->args[0];
      if (out.size() >= kMaxConditions || is_const(condition) || !can_leave(condition, inner)) return;
      if (!(conditionals_ & kUsingBlockVar) &&
          uses_var(condition, [&](const VarNode* var) { return thread_vars_.count(var) > 0; }))
        return;
      for (const PrimExpr& known : out)
        if (expr_equal(known, condition)) return;
      out.push_back(condition);
    };
    pre_order(body, [&](const Object* node) {
      if (auto* branch = cast_or_null<IfThenElse>(node); branch && (conditionals_ & kIfElseStmt))
        offer(branch->condition);
      if (auto* call = cast_or_null<Call>(node);
          call && (conditionals_ & kIfElseExpr) && is_call(call, "tir.if_then_else"))
        offer(call->args[0]);
      if (auto* select = cast_or_null<Select>(node); select && (conditionals_ & kIfElseExpr)) offer(select->condition);
      if (conditionals_ & kBooleanExpression) {
        if (auto* e = cast_or_null<BinaryNode>(node); e && e->dtype.is_bool() && e->dtype.lanes == 1)
          offer(PrimExpr(e));
        if (auto* e = cast_or_null<Not>(node)) offer(PrimExpr(e));
      }
      return true;
    });
    return out;
  }

  int conditionals_, lets_;
  Rewriter rewriter_;
  std::unordered_set<const VarNode*> thread_vars_;
};

}  // namespace

PrimFunc hoist_expression(const PrimFunc& function, const PassContext& context) {
  auto config = context.options<HoistExpressionConfig>("tir.HoistExpression");
  Hoister hoister(config->hoisted_conditionals, config->hoisted_let_bindings);
  return with_body(function, convert_ssa(hoister(function->body)));
}

}  // namespace tessera
