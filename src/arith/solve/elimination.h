#pragma once
// Fourier-Motzkin elimination over the integers.

#include "arith/analyzer.h"
#include "arith/solve/int_solver.h"

namespace tessera::arith {

/// sum of factors * variables + rest <= 0, or == 0.
struct Row {
  std::vector<int64_t> factors;
  PrimExpr rest;
  bool equation = false;
};

/// A system in triangular form. Every row of the system is in exactly one of `bounds` or `constants`, and the rows that were
/// derived from pairs are consequences of it, so all of them together hold where the system does.
struct Eliminated {
  std::vector<std::vector<Row>> bounds;  // by variable: the rows whose first variable it is
  std::vector<Row> constants;            // rows without variables
  std::vector<PrimExpr> others;          // conditions that are not linear
};

/// Eliminates the variables in their order. `outside` knows the variables that are not to be solved for.
Eliminated eliminate(const IntConstraints& system, Analyzer* outside);

}  // namespace tessera::arith
