#pragma once
// Equations between the axes of an operation and given values: which axes follow from them, and what else must hold.

#include "arith/analyzer.h"
#include "te/tensor.h"

namespace tessera::te {

/// Starts with `axes` open, under fresh variables. Each equation closes an axis by a solution, where it is linear in one,
/// or else stays a condition.
///   i in [0, 8), r in [0, 3):  i + r = t   =>   i = t - r, with r open and the condition 0 <= t - r < 8
class AxisSolver {
 public:
  /// `known` are the ranges of variables that may stand in right sides.
  AxisSolver(const Array<IterVar>& axes, const Map<Var, Range>& known);

  /// Adds left = right, where `left` is in the original axes. An axis that `may_solve` allows is found from it if one can be.
  void add(const PrimExpr& left, const PrimExpr& right, const std::function<bool(const IterVar&)>& may_solve);

  /// What was written in the original axes, in terms of the open ones and of right sides.
  PrimExpr in_own_terms(const PrimExpr& e) const;
  Range in_own_terms(const Range& range) const;
  const std::vector<IterVar>& open() const { return open_; }
  /// All conditions that are not known to hold.
  std::vector<PrimExpr> conditions();

 private:
  bool is_better(size_t a, const Array<PrimExpr>& form_a, size_t b, const Array<PrimExpr>& form_b) const;
  void solve(size_t i, int64_t factor, const PrimExpr& right);

  arith::Analyzer analyzer_;
  std::vector<IterVar> open_;
  std::vector<PrimExpr> conditions_;
  Map<Var, PrimExpr> fresh_, solutions_;  // of the original axes; of those that are closed
};

}  // namespace tessera::te
