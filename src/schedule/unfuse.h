#pragma once
// Fused loops of unknown length, seen as the two loops that they were.

#include "arith/analyzer.h"

namespace tessera::schedule {

struct Unfused {
  Array<PrimExpr> values;
  Map<Var, Range> domains;
};

/// A loop over [0, a * q), q not a number, that `values` use only as x // q and x % q is replaced by one over [0, a) and one
/// over [0, q): the analysis of digits knows numbers only.
Unfused unfuse(const Array<PrimExpr>& values, const Map<Var, Range>& domains);

}  // namespace tessera::schedule
