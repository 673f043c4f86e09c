#pragma once
// Equality and hash of expressions as they are written: same nodes, same values, the very same variables.

#include "ir/prim/expr.h"

namespace tessera {

bool deep_equal(const PrimExpr& a, const PrimExpr& b);
size_t deep_hash(const PrimExpr& e);

/// For containers keyed by expressions.
struct DeepEqual {
  bool operator()(const PrimExpr& a, const PrimExpr& b) const { return deep_equal(a, b); }
};
struct DeepHash {
  size_t operator()(const PrimExpr& e) const { return deep_hash(e); }
};

}  // namespace tessera
