#pragma once

#include "ir/expr.h"

namespace tessera::arith {

/// Sums in which a quotient and its remainder meet again, whatever else stands between them and whatever they are divided by:
///   (x // y + u) * y + (x % y + v)   =>   x + u * y + v
/// An expression where none do stays as it is.
PrimExpr merge_quotients(const PrimExpr& e);

}  // namespace tessera::arith
