#pragma once
// Symbolic intervals, and the interval of an expression over a box of loops.

#include <functional>
#include <unordered_map>
#include <vector>

#include "arith/analyzer.h"

namespace tessera::loops {

/// The integers from min to max, both included and possibly symbolic. An empty reference means no bound.
struct Interval {
  PrimExpr min, max;

  static Interval everything() { return {}; }
  static Interval point(PrimExpr value) { return {value, value}; }
  static Interval of(const Range& range);

  bool is_bounded() const { return min.defined() && max.defined(); }
  bool is_point() const { return min.defined() && min.same_as(max); }
};

/// Intervals of variables. One that has none is a constant of the question, like a symbolic size.
using VarIntervals = std::unordered_map<const VarNode*, Interval>;
/// The same as a question; null for a variable that has none.
using IntervalOf = std::function<const Interval*(const VarNode*)>;

/// An interval that holds every value of `e` when its variables take the values of theirs. Exact for what index
/// arithmetic usually is: sums, products, quotients and remainders by positive values, min and max.
Interval eval_interval(const PrimExpr& e, const VarIntervals& vars, arith::Analyzer& analyzer);
Interval eval_interval(const PrimExpr& e, const IntervalOf& vars, arith::Analyzer& analyzer);

/// The smallest interval around both, as far as their ends can be compared.
Interval hull(const Interval& a, const Interval& b, arith::Analyzer& analyzer);

/// An interval for each dimension. No dimensions, no elements: a box that nothing was added to.
using Box = std::vector<Interval>;
/// The smallest box around both.
void widen(Box* box, const Box& more, arith::Analyzer& analyzer);

/// The interval as a range with simplified ends; `otherwise` when it is not bounded.
Range cover(const Interval& interval, const Range& otherwise, arith::Analyzer& analyzer);

/// True when both ranges are known to hold the same integers.
bool is_same_range(const Range& a, const Range& b, arith::Analyzer& analyzer);

}  // namespace tessera::loops
