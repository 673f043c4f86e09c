#pragma once
// Constant bounds of integer expressions.

#include "arith/facts.h"
#include "arith/memo.h"

namespace tessera::arith {

/// Answers with bounds that hold for every value the facts allow. Division by zero is taken never to happen.
class BoundAnalyzer {
 public:
  explicit BoundAnalyzer(const Facts* facts) : facts_(facts) {}

  IntBound operator()(const PrimExpr& e) { return visit(e); }
  /// Must be called when the facts change.
  void forget() { memo_.clear(); }

 private:
  IntBound visit(const PrimExpr& e);
  IntBound of_node(const PrimExpr& e);
  IntBound of_call(const PrimExpr& e);

  const Facts* facts_;
  Memo<IntBound> memo_;
};

}  // namespace tessera::arith
