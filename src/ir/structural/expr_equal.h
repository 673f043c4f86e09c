#pragma once
// Equality of expressions as written, quick enough to be asked at every step of a simplifier.

#include "ir/expr.h"

namespace tessera {

/// True when both are the same tree: same node types, data types and leaves, variables by identity (those a `Let`
/// binds included). Two expressions that differ only in spans are equal; two unknown dimensions are not.
bool expr_equal(const PrimExpr& a, const PrimExpr& b);

/// Equal expressions have equal hashes.
size_t expr_hash(const PrimExpr& e);

}  // namespace tessera
