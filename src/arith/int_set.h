#pragma once
// Sets of integers with symbolic ends, and the sets of values that expressions take.

#include "arith/analyzer.h"

namespace tessera::arith {

struct IntSetNode : Object {
  static constexpr NodeInfo info{"arith.IntSet", &Object::info};
  static void fields(auto) {}
};

/// The integers from min_value to max_value, both included. neg_inf() and pos_inf() stand for no end;
/// [pos_inf, neg_inf] is the empty set.
struct IntervalSetNode : IntSetNode {
  PrimExpr min_value, max_value;
  static constexpr NodeInfo info{"arith.IntervalSet", &IntSetNode::info};
  static void fields(auto f) {
    f("min_value", &IntervalSetNode::min_value);
    f("max_value", &IntervalSetNode::max_value);
  }
};

PrimExpr pos_inf();
PrimExpr neg_inf();
bool is_pos_inf(const PrimExpr& e);
bool is_neg_inf(const PrimExpr& e);

/// Reference to a set; every set is an interval.
class IntSet : public Ref<IntSetNode> {
 public:
  using Ref::Ref;
  IntSet() = default;
  IntSet(const Ref<IntSetNode>& ref) : Ref(ref) {}

  static IntSet everything();
  static IntSet nothing();
  static IntSet single_point(const PrimExpr& point);
  static IntSet interval(const PrimExpr& min, const PrimExpr& max);
  static IntSet from_range(const Range& range);
  static IntSet from_min_extent(const PrimExpr& min, const PrimExpr& extent);
  /// The values of the lanes of a vector.
  static IntSet vector(const PrimExpr& e);

  const PrimExpr& min() const { return node()->min_value; }
  const PrimExpr& max() const { return node()->max_value; }
  bool has_lower_bound() const { return !is_neg_inf(min()) && !is_pos_inf(min()); }
  bool has_upper_bound() const { return !is_pos_inf(max()) && !is_neg_inf(max()); }
  bool is_everything() const { return is_neg_inf(min()) && is_pos_inf(max()); }
  /// Known to be empty as it is written; an interval may be empty without showing it.
  bool is_nothing() const;
  bool is_single_point() const;
  PrimExpr point_value() const;
  /// The range of the same integers; `otherwise` when an end is missing.
  Range cover_range(const Range& otherwise) const;

 private:
  const IntervalSetNode* node() const { return static_cast<const IntervalSetNode*>(node_); }
};

using SetOfVar = Map<Var, IntSet>;

/// A set that holds every value of `e` when the variables of `domains` range over their sets; other variables stay
/// symbols. Ends are simplified with what `analyzer` knows.
IntSet eval_set(const PrimExpr& e, const SetOfVar& domains, Analyzer* analyzer = nullptr);
IntSet eval_set(const Range& range, const SetOfVar& domains, Analyzer* analyzer = nullptr);
IntSet eval_set(const IntSet& set, const SetOfVar& domains, Analyzer* analyzer = nullptr);
Array<IntSet> eval_set(const Array<Range>& region, const SetOfVar& domains, Analyzer* analyzer = nullptr);
SetOfVar as_sets(const Map<Var, Range>& ranges);

/// The smallest interval around all of them.
IntSet union_sets(const Array<IntSet>& sets, Analyzer* analyzer = nullptr);
/// Like union, but takes in only sets that provably leave no hole.
IntSet union_lower_bound(const Array<IntSet>& sets);
IntSet intersect_sets(const Array<IntSet>& sets, Analyzer* analyzer = nullptr);
Array<IntSet> union_region(const Array<Array<IntSet>>& regions);

}  // namespace tessera::arith
