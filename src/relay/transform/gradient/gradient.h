#pragma once
// Reverse-mode differentiation: from f to a function of the same parameters that gives f's value and the gradients of
// its parameters, taken where the gradient of the value (of a tuple: its first field, the loss) is one everywhere.
//
//   fn (x, y) -> T    =>    fn (x, y) -> (T, (dx, dy))

#include "relay/expr.h"

namespace tessera::relay {

/// For functions that are one graph of operators (lets, tuples and calls of known functions are seen through): the
/// gradient is again a graph.
Function first_order_gradient(const Expr& function, const IRModule& mod);

/// For everything: control flow, closures, recursion, references, data types with type parameters. Each tensor travels
/// with a reference to its gradient, and each operation adds a step to a function that runs backwards at the end.
/// Functions of `mod` that are called get a counterpart there, named with "_grad".
Function higher_order_gradient(const Expr& function, const IRModule& mod);

/// The expression, its type known.
inline Expr typed(Expr expr, const Type& type) {
  expr->checked_type_ = type;
  return expr;
}

/// A tensor, or a tuple of such.
bool holds_tensors(const Type& type);

/// What the operator says of the gradients of its arguments; an error that names it when it says nothing.
Array<Expr> argument_gradients(const Op& op, const Expr& call, const Expr& gradient);

/// The function that is differentiated, with its types; of a global, its definition. Its parameters must be tensors or
/// tuples of them.
Function function_to_differentiate(const Expr& function, const IRModule& mod);

}  // namespace tessera::relay
