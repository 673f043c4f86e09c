#pragma once
// Intervals with symbolic ends, and the interval of the values that an expression takes.

#include <functional>
#include <optional>

#include "arith/int_set.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {

inline bool is_end(const PrimExpr& e) { return !is_pos_inf(e) && !is_neg_inf(e); }

struct Interval {
  PrimExpr min, max;
  bool is_point() const { return min.same_as(max) && is_end(min); }
  bool is_nothing() const { return is_pos_inf(min) || is_neg_inf(max); }
  bool is_everything() const { return is_neg_inf(min) && is_pos_inf(max); }
  bool is_bounded() const { return is_end(min) && is_end(max); }
};

inline Interval everything() { return {neg_inf(), pos_inf()}; }
inline Interval nothing() { return {pos_inf(), neg_inf()}; }
inline Interval point(const PrimExpr& e) { return {e, e}; }

inline PrimExpr lesser(const PrimExpr& a, const PrimExpr& b) {
  if (is_neg_inf(a) || is_pos_inf(b)) return a;
  if (is_neg_inf(b) || is_pos_inf(a)) return b;
  return expr_equal(a, b) ? a : min(a, b);
}
inline PrimExpr greater(const PrimExpr& a, const PrimExpr& b) {
  if (is_pos_inf(a) || is_neg_inf(b)) return a;
  if (is_pos_inf(b) || is_neg_inf(a)) return b;
  return expr_equal(a, b) ? a : max(a, b);
}
inline Interval hull(const Interval& a, const Interval& b) {
  if (a.is_nothing()) return b;
  if (b.is_nothing()) return a;
  return {lesser(a.min, b.min), greater(a.max, b.max)};
}

/// The interval of a variable; nothing where it is a symbol of the question, like a size.
using IntervalOfVar = std::function<std::optional<Interval>(const VarNode*)>;

/// An interval that holds every value of `e` when its variables take the values of theirs. Exact for what index arithmetic
/// usually is: sums, products, quotients and remainders by positive values, min and max. Ends are not simplified.
Interval eval_interval(const PrimExpr& e, const IntervalOfVar& domains, Analyzer* analyzer);

/// An end simplified; infinity stays.
inline PrimExpr tidy(const PrimExpr& e, Analyzer* analyzer) { return is_end(e) ? analyzer->simplify(e) : e; }

inline IntSet as_set(const Interval& i, Analyzer* analyzer) {
  if (i.is_point()) return IntSet::single_point(tidy(i.min, analyzer));
  return IntSet::interval(tidy(i.min, analyzer), tidy(i.max, analyzer));
}

/// Calls `f` with `analyzer`, or with a fresh one where there is none.
template <class F>
auto with_analyzer(Analyzer* analyzer, F f) {
  if (analyzer) return f(analyzer);
  Analyzer own;
  return f(&own);
}

}  // namespace tessera::arith
