#pragma once
// A type, perhaps with holes, for every expression; infer_type.h is what others use.

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/diagnostic.h"
#include "ir/module.h"
#include "relay/expr.h"
#include "relay/pattern.h"
#include "relay/type/rule.h"
#include "relay/type/solver.h"

namespace tessera::relay {

/// How a call is named in messages: its operator, function or global, and what is known of its arguments.
std::string describe(const Call* call, TypeSolver& solver, const std::vector<Type>& args);

/// What is wrong with a call of an operator with so many arguments; empty where it takes them. Rules count on it.
std::string wrong_number_of_arguments(const Op& op, size_t given);

class Inference {
 public:
  explicit Inference(IRModule mod) : mod_(std::move(mod)) {}

  /// The type of an expression, perhaps with holes.
  Type visit(const Expr& expr);
  Type global(const GlobalVar& var);
  /// Fills the holes; an error that lists all mistakes, if there are any.
  void finish();

  void report(const std::string& message, const Span& span);
  /// Where that is in the text the module was read from, if it was.
  std::string shown_at(const Span& span) const;
  const Type* find(const Object* expr) const;
  const Array<Type>* type_args(const Object* call) const;

  TypeSolver solver;

 private:
  static constexpr size_t kMaxErrors = 20;
  /// Unifies, or notes the error and goes on with `a`.
  Type same(const Type& a, const Type& b, const std::string& what, const Span& span);
  Type signature(const FunctionNode* function);
  Type constructor_type(const ConstructorNode* constructor);

  // by kind of expression
  Type infer(const Expr& expr);
  Type infer_get(const TupleGetItem* get);
  Type infer_lets(const Expr& first);
  Type infer_function(const FunctionNode* function);
  Type infer_match(const Match* match);
  void bind_pattern(const Pattern& pattern, const Type& type);

  // calls: type_inference_calls.cc
  Type infer_call(const Call* call);
  /// A function type with fresh holes (or the given types) for its parameters.
  Type instantiate(const Type& type, const Array<Type>& given, Array<Type>* used);

  /// A callee of unknown type is taken to be a plain function of these arguments, once those are known.
  bool args_inferred(const std::vector<Type>& args);
  void apply(const Call* call, const Type& callee, const std::vector<Type>& args, const Type& out);
  Type infer_op_call(const Call* call, const Op& op, std::vector<Type> args);
  /// What the rule says at once when all arguments are known, as in most programs: no holes and no questions. The type that
  /// the call has already is kept where it is that. Null when the rule has to be asked the long way.
  Type rule_of_known(const Call* call, const TypeRuleSlot* slot, const std::vector<Type>& args);
  static bool is_of_tensors(const Type& type);
  void ask_rule(const Call* call, const TypeRuleSlot* slot, std::vector<Type> args, const Type& out);

  IRModule mod_;
  std::unordered_map<const Object*, Type> types_;  // the expressions are kept alive by the module or the root
  std::unordered_map<const Object*, Array<Type>> type_args_;
  std::vector<std::string> errors_;
  Array<Diagnostic> diagnostics_;  // the same, for a renderer of the user's
};

}  // namespace tessera::relay
