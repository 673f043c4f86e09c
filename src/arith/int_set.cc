#include "arith/int_set.h"

#include "arith/interval.h"

namespace tessera::arith {

PrimExpr pos_inf() {
  static const PrimExpr* end = new PrimExpr(make_var("pos_inf", DataType::Handle()));
  return *end;
}
PrimExpr neg_inf() {
  static const PrimExpr* end = new PrimExpr(make_var("neg_inf", DataType::Handle()));
  return *end;
}
bool is_pos_inf(const PrimExpr& e) { return e.same_as(pos_inf()); }
bool is_neg_inf(const PrimExpr& e) { return e.same_as(neg_inf()); }

// ---- sets ----

IntSet IntSet::interval(const PrimExpr& min, const PrimExpr& max) {
  IntervalSetNode node;
  node.min_value = min;
  node.max_value = max;
  return IntSet(make(std::move(node)));
}
IntSet IntSet::everything() { return interval(neg_inf(), pos_inf()); }
IntSet IntSet::nothing() { return interval(pos_inf(), neg_inf()); }
IntSet IntSet::single_point(const PrimExpr& point) { return interval(point, point); }
IntSet IntSet::from_min_extent(const PrimExpr& min, const PrimExpr& extent) {
  if (is_one(extent)) return single_point(min);
  return interval(min, min + (extent - make_const(extent.dtype(), 1)));
}
IntSet IntSet::from_range(const Range& range) { return from_min_extent(range->min, range->extent); }
IntSet IntSet::vector(const PrimExpr& e) { return eval_set(e, {}); }

bool IntSet::is_nothing() const {
  if (is_pos_inf(min()) || is_neg_inf(max())) return true;
  const int64_t *low = as_int(min()), *high = as_int(max());
  return low && high && *low > *high;
}
bool IntSet::is_single_point() const { return has_lower_bound() && has_upper_bound() && expr_equal(min(), max()); }
PrimExpr IntSet::point_value() const {
  ICHECK(is_single_point()) << "the value of a set of one point";
  return min();
}
Range IntSet::cover_range(const Range& otherwise) const {
  if (is_single_point()) return make_range(min(), make_const(min().dtype(), 1));
  if (!has_lower_bound() || !has_upper_bound()) return otherwise;
  Analyzer analyzer;
  return make_range(min(), analyzer.simplify(max() - min() + make_const(min().dtype(), 1)));
}

IntSet union_sets(const Array<IntSet>& sets, Analyzer* analyzer) {
  if (sets.empty()) return IntSet::nothing();
  if (sets.size() == 1) return sets[0];
  return with_analyzer(analyzer, [&](Analyzer* a) {
    Interval out = nothing();
    for (const IntSet& set : sets) out = hull(out, {set.min(), set.max()});
    return as_set(out, a);
  });
}

IntSet union_lower_bound(const Array<IntSet>& sets) {
  IntSet out;
  Analyzer analyzer;
  auto follows = [&](const PrimExpr& low, const PrimExpr& high) {
    return !is_end(low) || !is_end(high) || analyzer.can_prove(low <= high + 1);
  };
  for (const IntSet& set : sets) {
    if (!out.defined()) {
      out = set;
    } else if (follows(set.min(), out.max()) && follows(out.min(), set.max())) {
      Interval whole = hull({out.min(), out.max()}, {set.min(), set.max()});
      out = as_set(whole, &analyzer);
    }
  }
  return out.defined() ? out : IntSet::nothing();
}

IntSet intersect_sets(const Array<IntSet>& sets, Analyzer* analyzer) {
  if (sets.empty()) return IntSet::nothing();
  if (sets.size() == 1) return sets[0];
  return with_analyzer(analyzer, [&](Analyzer* a) {
    Interval out = everything();
    for (const IntSet& set : sets) {
      if (set.is_nothing()) return IntSet::nothing();
      out = {greater(out.min, set.min()), lesser(out.max, set.max())};
    }
    if (out.is_bounded() && a->can_prove(out.max < out.min)) return IntSet::nothing();
    return as_set(out, a);
  });
}

Array<IntSet> union_region(const Array<Array<IntSet>>& regions) {
  if (regions.empty()) return {};
  Array<IntSet> out;
  for (size_t i = 0; i < regions[0].size(); ++i) {
    Array<IntSet> axis;
    for (const Array<IntSet>& region : regions) axis.push_back(region[i]);
    out.push_back(union_sets(axis));
  }
  return out;
}

}  // namespace tessera::arith
