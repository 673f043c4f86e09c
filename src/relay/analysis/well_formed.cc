// Scopes: every variable is bound once, and used only where it is in scope.

#include <unordered_map>

#include "relay/analysis/properties.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

/// Walks with a list of work instead of the stack: an expression or a clause to enter, or a binding whose scope ends.
class ScopeCheck {
 public:
  bool run(const Expr& root) {
    todo_.push_back({root});
    while (ok_ && !todo_.empty()) {
      Task task = todo_.back();
      todo_.pop_back();
      if (task.leaving) {
        in_scope_.erase(task.leaving);
      } else if (task.clause) {
        for (const Var& var : pattern_vars(task.clause->lhs)) bind(var);
        todo_.push_back({task.clause->rhs});
      } else if (task.expr) {
        enter(task.expr);
      }
    }
    return ok_;
  }

 private:
  struct Task {
    Expr expr;
    Clause clause = nullptr;
    const Object* leaving = nullptr;
  };
  void bind(const Var& var) {
    if (!bound_.insert(var.get()).second || free_.count(var.get())) ok_ = false;
    in_scope_.insert(var.get());
    todo_.push_back({nullptr, nullptr, var.get()});
  }
  void enter(const Expr& expr) {
    if (expr.as<VarNode>()) {
      if (in_scope_.count(expr.get())) return;
      if (bound_.count(expr.get())) ok_ = false;
      else free_.insert(expr.get());
      return;
    }
    if (!seen_.insert(expr.get()).second) return;
    if (auto* match = expr.as<Match>()) {
      for (size_t i = match->clauses.size(); i-- > 0;) todo_.push_back({nullptr, match->clauses[i]});
      todo_.push_back({match->data});
      return;
    }
    each_binder(expr, [&](const Var& var) { bind(var); });
    std::vector<Expr> parts;
    each_child(expr, [&](const Expr& part) { parts.push_back(part); });
    for (size_t i = parts.size(); i-- > 0;) todo_.push_back({parts[i]});
  }

  bool ok_ = true;
  std::vector<Task> todo_;
  std::unordered_set<const Object*> seen_, bound_, in_scope_, free_;
};

bool well_formed(const ObjectRef& root) {
  if (auto* mod = root.as<IRModuleNode>()) {
    for (const auto& [_, function] : mod->functions)
      if (function.as<FunctionNode>() && !ScopeCheck().run(function)) return false;
    return true;
  }
  return ScopeCheck().run(downcast<Expr>(root));
}

bool is_constant(const Expr& root) {
  bool constant = true;
  pre_order(root, [&](const Expr& expr) {
    constant &= expr.as<Constant>() || expr.as<Tuple>();
    return constant;
  });
  return constant;
}

Globals well_formed_globals{
    {"relay.analysis.well_formed", well_formed},
    {"relay.analysis.check_constant", is_constant},
    {"relay.analysis.check_basic_block_normal_form", is_basic_block_form},
};

}  // namespace

/// The scope an expression belongs to is the innermost one that all its uses share.
bool is_basic_block_form(const Expr& root) {
  struct Use {
    Expr expr;
    const void* scope;
  };
  std::unordered_map<const Object*, const void*> scope_of;
  std::vector<Use> todo{{root, root.get()}};
  auto is_atom = [](const Expr& e) {
    return e.as<VarNode>() || e.as<Constant>() || e.as<OpNode>() || e.as<GlobalVarNode>() || e.as<ConstructorNode>();
  };
  while (!todo.empty()) {
    auto [expr, scope] = todo.back();
    todo.pop_back();
    if (is_atom(expr)) continue;
    auto [known, added] = scope_of.try_emplace(expr.get(), scope);
    if (!added) {
      if (known->second != scope) return false;
      continue;
    }
    each_operand(expr, [&](const Expr& part) { todo.push_back({part, scope}); });
    if (auto* let = expr.as<Let>()) {
      todo.push_back({let->value, scope});
      todo.push_back({let->body, scope});
    } else if (auto* cond = expr.as<If>()) {
      todo.push_back({cond->cond, scope});
      todo.push_back({cond->true_branch, &cond->true_branch});
      todo.push_back({cond->false_branch, &cond->false_branch});
    } else if (auto* function = expr.as<FunctionNode>()) {
      todo.push_back({function->body, function});
    } else if (auto* ref = expr.as<RefCreate>()) {
      todo.push_back({ref->value, scope});
    } else if (auto* ref = expr.as<RefRead>()) {
      todo.push_back({ref->ref, scope});
    } else if (auto* ref = expr.as<RefWrite>()) {
      todo.push_back({ref->ref, scope});
      todo.push_back({ref->value, scope});
    } else if (auto* match = expr.as<Match>()) {
      todo.push_back({match->data, scope});
      for (const Clause& clause : match->clauses) todo.push_back({clause->rhs, clause.get()});
    }
  }
  return true;
}

}  // namespace tessera::relay
