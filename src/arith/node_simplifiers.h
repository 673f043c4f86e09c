#pragma once
// Nodes of later rooms that bind variables say themselves how they are simplified.

#include <functional>
#include <vector>

#include "ir/expr.h"

namespace tessera::arith {

/// `e` simplified where `condition` holds besides what is known.
using SimplifyUnder = std::function<PrimExpr(const PrimExpr& condition, const PrimExpr& e)>;

struct NodeSimplifier {
  const NodeInfo* type;
  PrimExpr (*simplify)(const PrimExpr& node, const SimplifyUnder& under);
};

/// One row for each such type; others are simplified child by child.
std::vector<NodeSimplifier>& node_simplifiers();

}  // namespace tessera::arith
