#pragma once
// Conditions that have to hold together, as guards of loops and blocks are.

#include <functional>
#include <vector>

#include "ir/prim/expr.h"

namespace tessera::loops {

/// a && (b && c)  =>  a, b, c
std::vector<PrimExpr> conjuncts(const PrimExpr& condition);

/// All of them together; true where there are none.
PrimExpr all_of(const std::vector<PrimExpr>& conditions);

/// The condition without those of its parts that name such a variable.
PrimExpr conditions_without(const PrimExpr& condition, const std::function<bool(const VarNode*)>& is_dropped);

}  // namespace tessera::loops
