#pragma once
// Types of the few expressions a rewrite has just made, where everything below them is typed.

#include "relay/expr.h"

namespace tessera::relay {

/// `expr` itself, with types on it and on those parts that have none yet: calls of operators, tuples, fields, constants.
/// Cheap: typed parts are not looked into. Throws a TypeError when an operator's rule refuses.
Expr typed(const Expr& expr);

}  // namespace tessera::relay
