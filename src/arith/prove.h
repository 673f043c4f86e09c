#pragma once
// Proofs of conditions: what simplification decides, and beyond it the symbolic ends of ranges.

#include "ir/expr.h"

namespace tessera::arith {

struct Core;

/// True when `condition` holds wherever the facts of `core` do.
bool prove(Core& core, const PrimExpr& condition);

}  // namespace tessera::arith
