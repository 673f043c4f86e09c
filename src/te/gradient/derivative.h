#pragma once
// Derivatives of expressions.

#include "ir/prim/expr.h"

namespace tessera::te {

/// The derivative of a leaf (a variable or a read of a tensor); an empty expression means 0.
using Seed = std::function<PrimExpr(const PrimExprNode*)>;

/// The derivative of `e` where those of its leaves are given; empty where it is 0 everywhere. Values that are no floats
/// (comparisons, integers) change in steps and have derivative 0. An operator without a rule is a NotImplementedError.
PrimExpr derivative(const PrimExpr& e, const Seed& seed);

}  // namespace tessera::te
