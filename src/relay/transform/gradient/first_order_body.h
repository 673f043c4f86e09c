#pragma once
// Bodies of functions whose closures become data (see defunctionalize.cc).

#include "relay/transform/function/defunctionalize.h"

namespace tessera::relay {

/// One body: a function's, or a clause of `apply`. Takes programs in A-normal form with their types. "Wanted" types are those
/// before the change.
class FirstOrderBody {
 public:
  explicit FirstOrderBody(FirstOrderProgram& program) : program_(program) {}

  /// What the expression becomes, as a value of type `wanted`.
  Expr value(const Expr& expr, const Type& wanted);
  /// What a variable becomes.
  Var variable(const Var& var);

 private:
  Expr convert(const Expr& expr, const Type& wanted);
  Expr convert_call(const Call* call);
  Expr convert_match(const Match* match, const Type& wanted);
  Expr lets(const Expr& first, const Type& wanted);
  /// The expression as a value of the type that it has.
  Expr plain(const Expr& expr) { return value(expr, checked_type(expr)); }
  Array<Expr> all(const Array<Expr>& exprs, const Array<Type>& wanted);
  /// What a name stands for, where it stands for a function of many types.
  Expr named(const Expr& expr) const;
  /// A function as data: a constructor of its own, called with what the function captures. `self` is its name, if it has one.
  Expr closure(const Function& function, const Var& self, const Type& wanted);
  std::vector<Var> captured(const Function& function) const;
  Pattern pattern(const Pattern& given, const Type& type);

  FirstOrderProgram& program_;
  std::unordered_map<const Object*, Expr> vars_;     // variables before and after the change
  std::unordered_map<const Object*, Expr> aliases_;  // names of functions of many types
};

}  // namespace tessera::relay
