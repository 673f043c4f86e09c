#include "relay/rename.h"

#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/type/solver.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

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

Var fresh_copy(const Var& var) {
  VarNode copy(*var.get());
  IdNode id;
  id.name_hint = var->name_hint();
  copy.vid = make(std::move(id));
  return make(std::move(copy));
}

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

Function instantiated(const Function& function, const Array<Type>& type_args) {
  if (type_args.size() != function->type_params.size())
    throw Error(TypeError) << "a function of " << function->type_params.size() << " type parameters is given "
                           << type_args.size() << " types";
  std::unordered_map<const Object*, Type> types;
  for (size_t i = 0; i < type_args.size(); ++i) types.emplace(function->type_params[i].get(), type_args[i]);
  auto replaced = [&](const Type& type) { return type ? substitute_types(type, types) : type; };
  FunctionNode open(*function.get());
  open.type_params = {};
  std::unordered_map<const Object*, Expr> fresh;
  post_order(function, [&](const Expr& part) {
    each_binder(part, [&](const Var& var) {
      Var copy = fresh_copy(var);
      copy.edit()->type_annotation = replaced(var->type_annotation);
      copy->checked_type_ = nullptr;
      fresh.emplace(var.get(), copy);
    });
  });
  Expr renamed = rename(make(std::move(open)), [&](const Var& var) {
    auto it = fresh.find(var.get());
    return it == fresh.end() ? Expr(nullptr) : it->second;
  });
  Expr out = rewrite(renamed, [&](Rewriter& self, const RelayExprNode* node) -> Expr {
    if (node->is_a(VarNode::info) || node->is_a(GlobalVarNode::info) || node->is_a(OpNode::info) ||
        node->is_a(ConstructorNode::info) || node->is_a(Constant::info))
      return Expr(node);
    Expr out = self.children(node);
    if (auto* call = out.as<Call>(); call && !call->type_args.empty()) {
      Call copy(*call);
      copy.type_args = {};
      for (const Type& type : call->type_args) copy.type_args.push_back(replaced(type));
      out = make(std::move(copy));
    } else if (auto* inner = out.as<FunctionNode>()) {
      FunctionNode copy(*inner);
      copy.ret_type = replaced(inner->ret_type);
      out = make(std::move(copy));
    }
    out->checked_type_ = nullptr;
    return out;
  });
  return downcast<Function>(out);
}

}  // namespace tessera::relay
