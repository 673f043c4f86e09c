// An expression computed more than once by a statement is computed once, into a variable around it.
//
//   C[i*48 + j] = C[i*48 + j] + x     =>     let cse_var_1 = i*48 + j: C[cse_var_1] = C[cse_var_1] + x
//
// Largest expressions first; when one is not worth a variable, the expressions it is made of are looked at. Loads are not
// shared (memory changes), nor divisions that only a lazy choice reaches (they may fail). A statement that may skip a part
// of itself counts outside only for what two of its parts compute: condition, then and else of an if; bounds and body of a
// loop. Only loop variables, lets and parameters may stand in a shared expression.
//
// Below each variable a statement is looked at again, for expressions that use it: but only where two of them that use it
// directly are equal, so that long straight code of many variables takes linear time.

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/analysis/may_fail.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

using Counts = std::unordered_map<PrimExpr, size_t, DeepHash, DeepEqual>;
using Variables = std::unordered_map<PrimExpr, Var, DeepHash, DeepEqual>;

/// Expressions and how often each is computed, in the order of their first appearance.
struct Computations {
  std::vector<PrimExpr> order;
  Counts counts;

  void add(const PrimExpr& e, size_t times = 1) {
    auto [it, is_new] = counts.try_emplace(e, 0);
    it->second += times;
    if (is_new) order.push_back(e);
  }
  void add(const Computations& other) {
    for (const PrimExpr& e : other.order) add(e, other.counts.at(e));
  }
};

bool is_leaf(const PrimExpr& e) {
  return e.as<VarNode>() || e.as<IntImm>() || e.as<FloatImm>() || e.as<StringImm>() || e.as<AnyDim>();
}

/// How many nodes an expression is made of, counted wherever they stand; every expression is looked at once.
class Complexity {
 public:
  Complexity() {
    visitor_.share_results(false);
    visitor_.on([this](const PrimExprNode* part) -> PrimExpr {
      count_ += (*this)(PrimExpr(part));
      return PrimExpr(part);
    });
  }
  Complexity(const Complexity&) = delete;
  Complexity& operator=(const Complexity&) = delete;

  size_t operator()(const PrimExpr& e) {
    if (is_leaf(e)) return 1;
    if (auto it = known_.find(e.get()); it != known_.end()) return it->second.second;
    size_t outer = std::exchange(count_, 1);
    visitor_.children(e.get());
    size_t out = std::exchange(count_, outer);
    known_.try_emplace(e.get(), e, out);
    return out;
  }

 private:
  Rewriter visitor_;
  size_t count_ = 0;                                                      // of the expression at hand
  std::unordered_map<const Object*, std::pair<PrimExpr, size_t>> known_;  // expressions are kept alive
};

bool is_eligible(const PrimExpr& e, SideEffects& effects) {
  if (is_leaf(e) || e.as<Ramp>() || e.as<Broadcast>() || e.as<BufferLoad>()) return false;
  if (auto* call = e.as<Call>(); call && call->args.empty()) return false;
  return effects(e) <= CallEffect::Pure;
}

/// Collects the largest eligible expressions below a node.
class Collector {
 public:
  explicit Collector(SideEffects* effects) : effects_(effects) {
    visitor_.share_results(false);
    visitor_.on([this](const PrimExprNode* e) -> PrimExpr { return on_expr(PrimExpr(e)); });
    visitor_.on([this](const For* op) -> Stmt { return combine({op->min, op->extent, op->body}), Stmt(op); });
    visitor_.on([this](const While* op) -> Stmt { return combine({op->condition, op->body}), Stmt(op); });
    visitor_.on([this](const IfThenElse* op) -> Stmt {
      return combine({op->condition, op->then_case, op->else_case}), Stmt(op);
    });
  }
  Computations of(const ObjectRef& node) {
    found_ = {};
    visitor_(node);
    return std::move(found_);
  }
  /// The largest eligible expressions strictly inside `e`.
  std::vector<PrimExpr> direct_parts(const PrimExpr& e) {
    found_ = {};
    inside(e);
    return std::move(found_.order);
  }

 private:
  PrimExpr on_expr(const PrimExpr& e) {
    if (is_leaf(e)) return e;
    if (is_eligible(e, *effects_) && !(is_lazy_ && may_fail(e))) found_.add(e);
    else inside(e);
    return e;
  }

  /// What a lazy choice guards may be computed before it only where that cannot fail.
  void inside(const PrimExpr& e) {
    auto* call = e.as<Call>();
    if (!builtin::is(call, builtin::if_then_else())) {
      visitor_.children(e.get());
      return;
    }
    visitor_(call->args[0]);
    bool outer = std::exchange(is_lazy_, true);
    visitor_(call->args[1]);
    visitor_(call->args[2]);
    is_lazy_ = outer;
  }

  /// Adds what at least two of `parts` compute, as often as all of them do. One of any two surely runs: the first part
  /// always does, and of the branches of an if one. A last part that has nothing to share with is not looked at.
  void combine(std::initializer_list<ObjectRef> parts) {
    Computations outer = std::exchange(found_, {}), all;
    Counts parts_with;
    for (const ObjectRef& part : parts) {
      if (!part || (&part == parts.end() - 1 && all.order.empty())) continue;
      visitor_(part);
      Computations here = std::exchange(found_, {});
      for (const PrimExpr& e : here.order) ++parts_with[e];
      all.add(here);
    }
    found_ = std::move(outer);
    for (const PrimExpr& e : all.order)
      if (parts_with.at(e) > 1) found_.add(e, all.counts.at(e));
  }

  SideEffects* effects_;
  Rewriter visitor_;
  Computations found_;
  bool is_lazy_ = false;  // inside a value that if_then_else may not evaluate
};

/// Variables of `among` that two equal expressions of the statement, other than loads, use directly or as part of a vector (vectors
/// of indices are never shared themselves): below the others, nothing is equal that was not before.
class VarsUsedAlike {
 public:
  using Vars = std::unordered_set<const VarNode*>;

  VarsUsedAlike(const Stmt& stmt, const Vars& among) : among_(among) {
    visitor_.share_results(false);
    visitor_.on([this](const PrimExprNode* e) -> PrimExpr { return on_expr(PrimExpr(e)); });
    visitor_(stmt);
  }
  Vars take() { return std::move(out_); }

 private:
  PrimExpr on_expr(const PrimExpr& e) {
    if (auto* var = e.as<VarNode>()) {
      if (among_.count(var)) used_.push_back(var);
    } else if (!is_leaf(e)) {
      std::vector<const VarNode*> outer = std::exchange(used_, {});
      visitor_.children(e.get());
      if (e.as<Ramp>() || e.as<Broadcast>()) outer.insert(outer.end(), used_.begin(), used_.end());
      else if (!used_.empty() && !e.as<BufferLoad>() && !users_.insert(e).second)
        out_.insert(used_.begin(), used_.end());
      used_ = std::move(outer);
    }
    return e;
  }

  const Vars& among_;
  Rewriter visitor_;
  std::vector<const VarNode*> used_;  // by the expression at hand itself
  std::unordered_set<PrimExpr, DeepHash, DeepEqual> users_;
  Vars out_;
};

class Eliminator {
 public:
  using Vars = VarsUsedAlike::Vars;

  Eliminator(const PrimFunc& function, bool identify_equal_terms) : identify_(identify_equal_terms) {
    for (const Var& param : function->params) known_.insert(param.get());
    for (const auto& [param, buffer] : function->buffer_map) known_.insert(buffer->data.get());
    rewriter_.share_results(false);
    rewriter_.on([](const PrimExprNode* e) -> PrimExpr { return PrimExpr(e); });
    rewriter_.on([this](const StmtNode* op) -> Stmt { return on_statement(Stmt(op)); });
  }

  Stmt operator()(const Stmt& body) { return rewriter_(body); }

 private:
  PrimExpr key(const PrimExpr& e) { return identify_ ? arith::Analyzer().simplify(e) : e; }

  Stmt on_statement(Stmt stmt) {
    share(&stmt);
    std::deque<Scope> scopes;  // of the variables that the statement begins with
    std::vector<Stmt> lets;
    Vars alike = used_alike(stmt);
    for (auto* let = stmt.as<LetStmt>(); let; let = stmt.as<LetStmt>()) {
      scopes.emplace_back(this, let->var, let->value);
      lets.push_back(stmt);
      stmt = let->body;
      if ((identify_ || alike.count(let->var.get())) && share(&stmt)) alike = used_alike(stmt);
    }
    stmt = inside(stmt);
    for (; !lets.empty(); lets.pop_back(), scopes.pop_back())
      stmt = with(lets.back().as<LetStmt>(), &LetStmt::body, stmt);
    return stmt;
  }

  /// Puts variables around `*stmt` until nothing is computed twice. True when it did.
  bool share(Stmt* stmt) {
    bool created = false;
    while (share_largest(stmt)) created = true;  // new variables may make more expressions equal
    return created;
  }

  /// Of the variables that `stmt` begins with, those below which more may be equal.
  Vars used_alike(const Stmt& stmt) const {
    Vars first;
    for (auto* let = stmt.as<LetStmt>(); let; let = let->body.as<LetStmt>()) first.insert(let->var.get());
    return first.empty() || identify_ ? Vars() : VarsUsedAlike(stmt, first).take();
  }

  /// The statement's own parts, with what it brings into scope.
  Stmt inside(const Stmt& stmt) {
    if (auto* loop = stmt.as<For>()) {
      Scope scope(this, loop->loop_var, nullptr);
      return with(loop, &For::body, rewriter_(loop->body));
    }
    return rewriter_.children(stmt.get());
  }

  struct Scope {
    Scope(Eliminator* self, const Var& var, const PrimExpr& value) : self(self), var(var) {
      added = self->known_.insert(var.get()).second;
      if (value && is_eligible(value, self->effects_)) {
        computed = self->key(value);
        if (!self->available_.try_emplace(computed, var).second) computed = nullptr;
      }
    }
    ~Scope() {
      if (added) self->known_.erase(var.get());
      if (computed) self->available_.erase(computed);
    }
    Eliminator* self;
    Var var;
    PrimExpr computed;
    bool added;
  };

  /// Puts variables around `*stmt` for what it computes more than once. True when it did.
  bool share_largest(Stmt* stmt) {
    std::map<size_t, std::vector<PrimExpr>, std::greater<>> by_size;
    Counts counts;
    auto add = [&](const PrimExpr& e, size_t times) {
      auto [it, is_new] = counts.try_emplace(key(e), 0);
      it->second += times;
      if (is_new) by_size[complexity_(e)].push_back(e);
    };
    Computations done = collector_.of(*stmt);
    for (const PrimExpr& e : done.order) add(e, done.counts.at(e));

    bool created = false;
    while (!by_size.empty()) {
      auto [size, same_size] = std::move(*by_size.begin());
      by_size.erase(by_size.begin());
      Variables found;  // no two of one size contain each other: all are replaced at once
      std::vector<std::pair<Var, PrimExpr>> made;
      for (const PrimExpr& e : same_size) {
        auto existing = available_.find(key(e));
        if (existing != available_.end()) {
          found.emplace(key(e), existing->second);
        } else if (counts.at(key(e)) > 1 && is_known(e)) {
          Var var = make_var("cse_var_" + std::to_string(++last_), e.dtype());
          found.emplace(key(e), var);
          made.emplace_back(var, e);
        } else {
          for (const PrimExpr& part : collector_.direct_parts(e)) add(part, 1);
        }
      }
      if (!found.empty()) *stmt = replace(*stmt, found, size);
      for (const auto& [var, e] : made) *stmt = make(LetStmt{.var = var, .value = e, .body = *stmt});
      created = created || !made.empty();
    }
    return created;
  }

  bool is_known(const PrimExpr& e) const {
    return !uses_var(e, [this](const VarNode* var) { return !known_.count(var); });
  }

  /// `stmt` with variables in place of expressions of `size` nodes (of any size where equal terms are identified).
  Stmt replace(const Stmt& stmt, const Variables& by, size_t size) {
    return rewrite(stmt, [&](Rewriter& self, const PrimExprNode* node) -> PrimExpr {
      PrimExpr e(node);
      if (is_leaf(e)) return e;
      size_t here = identify_ ? size : complexity_(e);
      if (here < size) return e;
      if (here == size && is_eligible(e, effects_))
        if (auto it = by.find(key(e)); it != by.end()) return it->second;
      return self.children(node);
    });
  }

  Rewriter rewriter_;
  SideEffects effects_;
  Complexity complexity_;
  Collector collector_{&effects_};
  std::unordered_set<const VarNode*> known_;  // parameters, loop variables and lets in scope
  Variables available_;
  int last_ = 0;
  bool identify_;
};

}  // namespace

PrimFunc common_subexpr_elim(const PrimFunc& function, bool enable, bool identify_equal_terms) {
  return enable ? with_body(function, Eliminator(function, identify_equal_terms)(function->body)) : function;
}

}  // namespace tessera
