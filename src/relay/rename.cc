#include "relay/rename.h"

#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

Var fresh_copy(const Var& var) {
  VarNode copy(*var.get());
  IdNode id;
  id.name_hint = var->name_hint();
  copy.vid = make(std::move(id));
  return make(std::move(copy));
}

Pattern rename_pattern(const Pattern& pattern, const std::function<Var(const Var&)>& binder) {
  auto parts = [&](const Array<Pattern>& patterns) {
    Array<Pattern> out;
    for (const Pattern& part : patterns) out.push_back(rename_pattern(part, binder));
    return out;
  };
  if (auto* var = pattern.as<PatternVar>()) return with(var, &PatternVar::var, binder(var->var));
  if (auto* made = pattern.as<PatternConstructor>())
    return with(made, &PatternConstructor::patterns, parts(made->patterns));
  if (auto* tuple = pattern.as<PatternTuple>()) return with(tuple, &PatternTuple::patterns, parts(tuple->patterns));
  return pattern;
}

}  // namespace

Expr rename(const Expr& root, const std::function<Expr(const Var&)>& replace) {
  auto binder = [&](const Var& var) {
    Expr other = replace(var);
    return other ? downcast<Var>(other) : var;
  };
  Rewriter rewriter;
  rewriter.on([&](const VarNode* var) -> Expr {
    Expr other = replace(Var(var));
    return other ? other : Expr(var);
  });
  rewriter.on([&](Rewriter& self, const Let* let) -> Expr {
    std::vector<Let> chain;
    Expr end(let);
    for (; end.as<Let>(); end = Expr(end.as<Let>()->body)) {
      Let copy(*end.as<Let>());
      copy.var = binder(copy.var);
      copy.value = self(copy.value);
      chain.push_back(std::move(copy));
    }
    Expr body = self(end);
    for (size_t i = chain.size(); i-- > 0;) {
      chain[i].body = body;
      body = make(std::move(chain[i]));
    }
    return body;
  });
  rewriter.on([&](Rewriter& self, const FunctionNode* function) -> Expr {
    FunctionNode copy(*function);
    copy.params = {};
    for (const Var& param : function->params) copy.params.push_back(binder(param));
    copy.body = self(function->body);
    return make(std::move(copy));
  });
  rewriter.on([&](Rewriter& self, const ClauseNode* clause) -> ObjectRef {
    ClauseNode copy(*clause);
    copy.lhs = rename_pattern(clause->lhs, binder);
    copy.rhs = self(clause->rhs);
    return make(std::move(copy));
  });
  return rewriter(root);
}

Expr with_fresh_binders(const Expr& expr) {
  std::unordered_map<const Object*, Expr> fresh;
  post_order(expr, [&](const Expr& part) {
    each_binder(part, [&](const Var& var) { fresh.emplace(var.get(), fresh_copy(var)); });
  });
  if (fresh.empty()) return expr;
  return rename(expr, [&](const Var& var) {
    auto it = fresh.find(var.get());
    return it == fresh.end() ? Expr(nullptr) : it->second;
  });
}

Expr inlined_body(const Function& function, const Array<Expr>& args) {
  if (args.size() != function->params.size())
    throw Error(TypeError) << "a function of " << function->params.size() << " parameters is called with "
                           << args.size() << " arguments";
  std::unordered_map<const Object*, Expr> values;
  post_order(function->body, [&](const Expr& part) {
    each_binder(part, [&](const Var& var) { values.emplace(var.get(), fresh_copy(var)); });
  });
  for (size_t i = 0; i < args.size(); ++i) values[function->params[i].get()] = args[i];
  return rename(function->body, [&](const Var& var) {
    auto it = values.find(var.get());
    return it == values.end() ? Expr(nullptr) : it->second;
  });
}

}  // namespace tessera::relay
