#pragma once
// Copies of programs whose bound variables are their own.

#include <functional>

#include "relay/pattern.h"

namespace tessera::relay {

/// `expr` with each of its free and bound variables that `replace` answers for replaced, also where it is bound (by a
/// let, as a parameter, in a pattern): an answer for a bound variable must be a variable. An empty answer keeps it.
Expr rename(const Expr& expr, const std::function<Expr(const Var&)>& replace);

/// A copy in which every bound variable is a new one of the same name and type, so that it may stand beside the original.
Expr with_fresh_binders(const Expr& expr);

/// The body of `function` with its parameters replaced; bound variables are new ones. An argument that is used several
/// times is shared.
Expr inlined_body(const Function& function, const Array<Expr>& args);

/// A polymorphic function for given types: its type parameters replaced everywhere, bound variables new ones. Types that
/// were inferred are forgotten.
Function instantiated(const Function& function, const Array<Type>& type_args);

/// A new variable of the same name and type.
Var fresh_copy(const Var& var);

}  // namespace tessera::relay
