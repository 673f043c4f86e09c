#pragma once
// Where the expressions of a graph are evaluated.

#include <unordered_map>
#include <vector>

#include "relay/walk.h"

namespace tessera::relay {

/// Functions, the branches of an If and the clauses of a Match open scopes; lets do not. An expression belongs to the
/// innermost scope that all its uses lie in: it is evaluated there, once, before the first of them. Primitive functions
/// count as one expression and are not entered.
class Scopes {
 public:
  using Id = int;

  explicit Scopes(const Expr& root);

  /// The scope of an expression; that of the root is 0.
  Id of(const Expr& expr) const { return uses_.at(expr.get()).scope; }
  /// The scope that an expression opens: of a function's body 0, of the branches of an If 0 and 1, of clause i of a
  /// Match i.
  Id inner(const Expr& expr, int i = 0) const { return first_inner_.at(expr.get()) + i; }
  /// True when the expression is used in more than one scope.
  bool is_used_across(const Expr& expr) const { return uses_.at(expr.get()).across; }
  int count() const { return static_cast<int>(scopes_.size()); }

 private:
  struct Scope {
    Id parent, jump;  // `jump` is a far ancestor: common ancestors are found in logarithmic time
    int depth;
  };
  struct Use {
    Id scope;
    bool across;
  };
  Id open(Id parent);
  Id common(Id a, Id b) const;
  void use(const Expr& expr, Id scope);

  std::vector<Scope> scopes_;
  std::unordered_map<const Object*, Use> uses_;
  std::unordered_map<const Object*, Id> first_inner_;
};

/// True for what is named or known already: variables, globals, operators, constructors.
inline bool is_name(const Expr& expr) {
  return expr.as<VarNode>() || expr.as<GlobalVarNode>() || expr.as<OpNode>() || expr.as<ConstructorNode>();
}
inline bool is_primitive(const FunctionNode* function) { return function->attrs.is_true(attr::kPrimitive); }
/// One kernel, of ours or of an external code generator: a function that stays whole.
inline bool is_kernel(const FunctionNode* function) {
  return function->attrs.has(attr::kCompiler) || is_primitive(function);
}

}  // namespace tessera::relay
