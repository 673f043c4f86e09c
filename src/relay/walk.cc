#include "relay/walk.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "runtime/registry.h"

namespace tessera::relay {

std::vector<Var> pattern_vars(const Pattern& pattern) {
  std::vector<Var> out;
  std::vector<Pattern> todo{pattern};
  while (!todo.empty()) {
    Pattern next = todo.back();
    todo.pop_back();
    if (auto* var = next.as<PatternVar>()) out.push_back(var->var);
    auto* made = next.as<PatternConstructor>();
    auto* tuple = next.as<PatternTuple>();
    if (!made && !tuple) continue;
    const Array<Pattern>& parts = made ? made->patterns : tuple->patterns;
    for (size_t i = parts.size(); i-- > 0;) todo.push_back(parts[i]);
  }
  return out;
}

void post_order(const Expr& root, const std::function<void(const Expr&)>& visit, bool binders) {
  std::vector<std::pair<Expr, bool>> stack;
  std::unordered_set<const Object*> seen;
  stack.emplace_back(root, false);
  while (!stack.empty()) {
    auto [expr, parts_done] = stack.back();
    if (parts_done) {
      stack.pop_back();
      visit(expr);
      continue;
    }
    if (!expr || !seen.insert(expr.get()).second) {
      stack.pop_back();
      continue;
    }
    stack.back().second = true;
    std::vector<Expr> parts;
    if (binders) each_binder(expr, [&](const Var& var) { parts.push_back(var); });
    each_child(expr, [&](const Expr& part) { parts.push_back(part); });
    for (size_t i = parts.size(); i-- > 0;)
      if (!seen.count(parts[i].get())) stack.emplace_back(parts[i], false);
  }
}

void pre_order(const Expr& root, const std::function<bool(const Expr&)>& visit) {
  std::vector<Expr> stack{root};
  std::unordered_set<const Object*> seen;
  while (!stack.empty()) {
    Expr expr = stack.back();
    stack.pop_back();
    if (!expr || !seen.insert(expr.get()).second || !visit(expr)) continue;
    std::vector<Expr> parts;
    each_child(expr, [&](const Expr& part) { parts.push_back(part); });
    stack.insert(stack.end(), parts.rbegin(), parts.rend());
  }
}

namespace {

/// The variables of an expression in the order in which they are met; binders count when their scope is entered.
struct Variables {
  std::vector<Var> all, bound;
  std::unordered_set<const Object*> seen, is_bound;

  explicit Variables(const Expr& root) {
    pre_order(root, [&](const Expr& expr) {
      each_binder(expr, [&](const Var& var) {
        add(var);
        if (is_bound.insert(var.get()).second) bound.push_back(var);
      });
      if (auto* var = expr.as<VarNode>()) add(Var(var));
      return true;
    });
  }
  void add(const Var& var) {
    if (seen.insert(var.get()).second) all.push_back(var);
  }
  std::vector<Var> free() const {
    std::vector<Var> out;
    for (const Var& var : all)
      if (!is_bound.count(var.get())) out.push_back(var);
    return out;
  }
};

/// Pattern variables stand for themselves in analyses of a pattern alone.
std::vector<Var> bound_vars(const ObjectRef& root) {
  if (root.as<PatternNode>()) return pattern_vars(downcast<Pattern>(root));
  return Variables(downcast<Expr>(root)).bound;
}

/// The same for type variables.
struct TypeVariables {
  std::vector<TypeVar> all, bound;
  std::unordered_set<const Object*> seen, is_bound;

  explicit TypeVariables(const ObjectRef& root) {
    if (root.as<TypeNode>()) visit_type(downcast<Type>(root));
    else visit_expr(downcast<Expr>(root));
  }
  void visit_expr(const Expr& root) {
    post_order(
        root,
        [&](const Expr& expr) {
          if (auto* var = expr.as<VarNode>()) visit_type(var->type_annotation);
          if (auto* call = expr.as<Call>())
            for (const Type& type : call->type_args) visit_type(type);
          if (auto* function = expr.as<FunctionNode>()) {
            for (const TypeVar& param : function->type_params) bind(param);
            visit_type(function->ret_type);
          }
          if (auto* constructor = expr.as<ConstructorNode>())
            for (const Type& input : constructor->inputs) visit_type(input);
        },
        true);
  }
  void visit_type(const Type& type) {
    if (!type) return;
    tessera::post_order(type, [&](const Object* node) {
      if (auto* var = cast_or_null<TypeVarNode>(node)) add(TypeVar(var));
      if (auto* function = cast_or_null<FuncType>(node))
        for (const TypeVar& param : function->type_params) bind(param);
      if (auto* data = cast_or_null<TypeDataNode>(node)) {
        for (const TypeVar& param : data->type_vars) bind(param);
        for (const Constructor& constructor : data->constructors)
          for (const Type& input : constructor->inputs) visit_type(input);
      }
    });
  }
  void add(const TypeVar& var) {
    if (seen.insert(var.get()).second) all.push_back(var);
  }
  void bind(const TypeVar& var) {
    add(var);
    if (is_bound.insert(var.get()).second) bound.push_back(var);
  }
};

template <class T>
Array<T> array_of(const std::vector<T>& items) {
  return Array<T>(items.begin(), items.end());
}

Array<String> all_dtypes(const Expr& expr) {
  Array<String> out;
  std::unordered_set<std::string> seen;
  auto add = [&](const Type& type) {
    if (!type) return;
    tessera::post_order(type, [&](const Object* node) {
      auto* tensor = cast_or_null<TensorTypeNode>(node);
      if (tensor && seen.insert(tensor->dtype.str()).second) out.push_back(tensor->dtype.str());
    });
  };
  post_order(expr, [&](const Expr& e) { add(e->checked_type_); }, true);
  return out;
}

}  // namespace

std::vector<Var> free_vars(const Expr& root) { return Variables(root).free(); }

std::vector<TypeVar> free_type_vars(const ObjectRef& root) {
  TypeVariables found(root);
  std::vector<TypeVar> out;
  for (const TypeVar& var : found.all)
    if (!found.is_bound.count(var.get())) out.push_back(var);
  return out;
}

Expr bind(const Expr& expr, const Map<Var, Expr>& values) {
  auto replaced = [&](const Expr& part) {
    return rewrite(part, [&](Rewriter& self, const RelayExprNode* node) -> Expr {
      if (auto* var = cast_or_null<VarNode>(node)) {
        Expr value = values.get_or_null(Var(var));
        return value ? value : Expr(var);
      }
      Expr out = self.children(node);
      if (out.get() != node) out->checked_type_ = nullptr;  // the replacements may have other types
      return out;
    });
  };
  auto* function = expr.as<FunctionNode>();
  if (!function) return replaced(expr);
  FunctionNode out(*function);
  out.checked_type_ = nullptr;
  out.body = replaced(function->body);
  out.params = {};
  for (const Var& param : function->params)
    if (!values.count(param)) out.params.push_back(param);
  if (out.body.same_as(function->body) && out.params.size() == function->params.size()) return expr;
  std::vector<Var> before = free_vars(expr);
  for (const Var& var : free_vars(make(FunctionNode(out))))
    if (std::none_of(before.begin(), before.end(), [&](const Var& old) { return old.same_as(var); }))
      out.params.push_back(var);
  return make(std::move(out));
}

static Globals walk_globals{
    {"relay.analysis.post_order_visit",
     [](Expr expr, PackedFunc visit) { post_order(expr, [&](const Expr& e) { visit(e); }, true); }},
    {"relay.analysis.free_vars", [](Expr expr) { return array_of(free_vars(expr)); }},
    {"relay.analysis.bound_vars", [](ObjectRef root) { return array_of(bound_vars(root)); }},
    {"relay.analysis.all_vars", [](Expr expr) { return array_of(Variables(expr).all); }},
    {"relay.analysis.free_type_vars", [](ObjectRef root, AnyView) { return array_of(free_type_vars(root)); }},
    {"relay.analysis.bound_type_vars", [](ObjectRef root, AnyView) { return array_of(TypeVariables(root).bound); }},
    {"relay.analysis.all_type_vars", [](ObjectRef root, AnyView) { return array_of(TypeVariables(root).all); }},
    {"relay.analysis.all_dtypes", all_dtypes},
    {"relay.ir.Bind", bind},
    {"relay.ir.IsDynamic",
     [](Type type) {
       bool found = false;
       tessera::post_order(type, [&](const Object* node) {
         if (node->is_a(AnyDim::info)) found = true;
         if (auto* tensor = cast_or_null<TensorTypeNode>(node))
           for (const PrimExpr& extent : tensor->shape) found |= !as_int(extent);
       });
       return found;
     }},
};

}  // namespace tessera::relay
