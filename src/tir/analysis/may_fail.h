#pragma once
// Whether an expression may be evaluated where the program does not ask for it.

#include "ir/prim/expr.h"

namespace tessera {

/// True when `e` divides integers by what may be zero: CPUs trap there. What a lazy if_then_else guards counts too.
bool may_fail(const PrimExpr& e);

}  // namespace tessera
