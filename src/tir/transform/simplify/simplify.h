#pragma once

#include "arith/analyzer.h"
#include "tir/function.h"

namespace tessera {

/// Simplifies every expression with what is known where it stands: ranges of loops and threads, conditions of branches
/// and asserts, values of lets. Branches that cannot be taken disappear, integer lets are put in.
Stmt simplify(const Stmt& body, arith::Analyzer analyzer = {});

/// `condition` without `likely` around it.
PrimExpr without_likely(const PrimExpr& condition);

}  // namespace tessera
