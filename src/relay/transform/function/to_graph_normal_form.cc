#include <algorithm>

#include "ir/rewrite.h"
#include "relay/let_list.h"
#include "relay/transform/function/normal_form.h"
#include "relay/transform/passes.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

bool touches_reference(const Expr& expr) { return expr.as<RefCreate>() || expr.as<RefRead>() || expr.as<RefWrite>(); }

/// True when the program knows references: its own, or those it is given.
bool has_references(const Expr& root) {
  bool found = false;
  post_order(root, [&](const Expr& expr) {
    found |= touches_reference(expr);
    if (!expr.as<VarNode>() || found || !expr->checked_type_) return;
    tessera::post_order(expr->checked_type_, [&](const Object* type) { found |= type->is_a(RefType::info); });
  });
  return found;
}

bool has_effect(const Expr& value, bool calls_count) {
  bool found = false;
  pre_order(value, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    found |= touches_reference(expr);
    found |= calls_count && call && !call->op.as<OpNode>() && !call->op.as<ConstructorNode>();
    return !found && !expr.as<FunctionNode>();  // a closure does nothing until it is called
  });
  return found;
}

bool is_recursive(const Let* let) {
  if (!let->value.as<FunctionNode>()) return false;
  std::vector<Var> free = free_vars(let->value);
  return std::any_of(free.begin(), free.end(), [&](const Var& var) { return var.same_as(let->var); });
}

}  // namespace

Expr to_graph_normal_form(const Expr& root) {
  bool calls_count = has_references(root);
  std::unordered_map<const Object*, Expr> values;
  Rewriter rewriter;
  rewriter.on([&](const VarNode* var) -> Expr {
    auto it = values.find(var);
    return it == values.end() ? Expr(var) : it->second;
  });
  rewriter.on([&](Rewriter& self, const Let* first) -> Expr {
    auto new_value = [&](const Let* let) -> Expr {
      Expr value = self(let->value);
      if (is_recursive(let) || has_effect(let->value, calls_count)) return value;
      values.emplace(let->var.get(), value);
      return nullptr;
    };
    return rewrite_lets(first, new_value, self);
  });
  return rewriter(root);
}

}  // namespace tessera::relay
