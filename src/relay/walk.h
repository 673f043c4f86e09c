#pragma once
// The parts of an expression, and walks over programs of any depth and length.

#include <functional>
#include <unordered_set>
#include <vector>

#include "relay/pattern.h"

namespace tessera::relay {

/// Variables of a pattern, from left to right.
std::vector<Var> pattern_vars(const Pattern& pattern);

/// What is evaluated with the expression, in order: the operands of calls and tuples. Other nodes open scopes.
template <class F>
void each_operand(const Expr& expr, F&& f) {
  if (auto* call = expr.as<Call>()) {
    f(call->op);
    for (const Expr& arg : call->args) f(arg);
  } else if (auto* tuple = expr.as<Tuple>()) {
    for (const Expr& field : tuple->fields_) f(field);
  } else if (auto* item = expr.as<TupleGetItem>()) {
    f(item->tuple);
  }
}

/// All expressions directly below, with those in inner scopes; variables where they are bound are left out.
template <class F>
void each_child(const Expr& expr, F&& f) {
  each_operand(expr, f);
  if (auto* let = expr.as<Let>()) f(let->value), f(let->body);
  if (auto* cond = expr.as<If>()) f(cond->cond), f(cond->true_branch), f(cond->false_branch);
  if (auto* function = expr.as<FunctionNode>()) f(function->body);
  if (auto* ref = expr.as<RefCreate>()) f(ref->value);
  if (auto* ref = expr.as<RefRead>()) f(ref->ref);
  if (auto* ref = expr.as<RefWrite>()) f(ref->ref), f(ref->value);
  if (auto* match = expr.as<Match>()) {
    f(match->data);
    for (const Clause& clause : match->clauses) f(clause->rhs);
  }
}

/// The variables that an expression binds itself: of a let, the parameters of a function, those of patterns.
template <class F>
void each_binder(const Expr& expr, F&& f) {
  if (auto* let = expr.as<Let>()) f(let->var);
  if (auto* function = expr.as<FunctionNode>())
    for (const Var& param : function->params) f(param);
  if (auto* match = expr.as<Match>())
    for (const Clause& clause : match->clauses)
      for (const Var& var : pattern_vars(clause->lhs)) f(var);
}

/// Calls `visit` on every expression once, parts before the whole, left to right. With `binders`, variables where they
/// are bound count as parts.
void post_order(const Expr& root, const std::function<void(const Expr&)>& visit, bool binders = false);
/// Calls `visit` on every expression once, the whole before its parts; parts are entered where it returns true.
void pre_order(const Expr& root, const std::function<bool(const Expr&)>& visit);

/// Variables used but not bound, in the order of their first use.
std::vector<Var> free_vars(const Expr& root);
/// Type variables used in types but not bound by a function, in the order of their first use.
std::vector<TypeVar> free_type_vars(const ObjectRef& root);

/// `expr` with free variables replaced. A parameter of `expr`, if it is a function, that is replaced is dropped, and
/// variables that come in free with the replacements become parameters.
Expr bind(const Expr& expr, const Map<Var, Expr>& values);

}  // namespace tessera::relay
