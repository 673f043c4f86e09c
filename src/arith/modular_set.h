#pragma once
// Remainders of integer expressions: which k * coeff + base they are.

#include "arith/const_int_bound.h"

namespace tessera::arith {

class ModularAnalyzer {
 public:
  ModularAnalyzer(const Facts* facts, BoundAnalyzer* bounds) : facts_(facts), bounds_(bounds) {}

  Modular operator()(const PrimExpr& e) { return visit(e); }
  void forget() { memo_.clear(); }

 private:
  Modular visit(const PrimExpr& e);
  Modular of_node(const PrimExpr& e);

  const Facts* facts_;
  BoundAnalyzer* bounds_;
  Memo<Modular> memo_;
};

/// The values that are in both sets when they can be told in this form, else those of `a`.
Modular intersect(Modular a, Modular b);

}  // namespace tessera::arith
