#include "arith/region_bound.h"

#include "arith/iter_map/iter_map.h"
#include "arith/kind.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::arith {
namespace {

bool names(const PrimExpr& e, const Map<Var, Range>& vars) {
  return uses_var(e, [&](const VarNode* v) { return vars.count(Var(v)); });
}

/// The values of one axis: starts of a digit, each followed by `extent` elements. Empty when they leave holes.
IntSet axis_box(const IterSumExpr& start, const PrimExpr& extent, Analyzer* analyzer) {
  if (start->args.empty()) return IntSet::from_min_extent(start->base, extent);
  if (start->args.size() != 1) return nullptr;
  IterSplitExpr split = start->args[0];
  PrimExpr one = make_const(start->dtype, 1);
  bool up = analyzer->can_prove_greater_equal(split->scale, 1);
  PrimExpr step = up ? split->scale : make_zero(start->dtype) - split->scale;
  if (!analyzer->can_prove(extent >= step)) return nullptr;
  PrimExpr reach = (split->extent - one) * split->scale;
  PrimExpr low = up ? start->base : start->base + reach, high = up ? start->base + reach : start->base;
  return IntSet::interval(analyzer->simplify(low), analyzer->simplify(high + extent - one));
}

Array<IntSet> boxes(const Array<Range>& region, const Map<Var, Range>& var_dom, const PrimExpr& predicate,
                    bool within_predicate, Analyzer* analyzer) {
  std::vector<PrimExpr> starts;
  for (const Range& range : region) {
    if (names(range->extent, var_dom)) return nullptr;
    starts.push_back(range->min);
  }
  IterMapResult found =
      detect_iter_map(Array<PrimExpr>(starts), var_dom, predicate, IterMapLevel::Surjective, analyzer);
  if (found->indices.size() != region.size() || (within_predicate && !found->is_whole)) return nullptr;
  if (!is_zero(found->padding_predicate)) return nullptr;
  Array<IntSet> out;
  for (size_t i = 0; i < region.size(); ++i) {
    IntSet axis = axis_box(found->indices[i], region[i]->extent, analyzer);
    if (!axis.defined()) return nullptr;
    out.push_back(axis);
  }
  return out;
}

/// One axis alone. The quotients of an interval are an interval, also where the digits are none.
IntSet axis_alone(const Range& range, const Map<Var, Range>& var_dom, const PrimExpr& predicate, bool within_predicate,
                  Analyzer* analyzer) {
  if (Array<IntSet> found = boxes({range}, var_dom, predicate, within_predicate, analyzer); found.defined())
    return found[0];
  const auto* quotient = range->min.as<FloorDiv>();
  const int64_t* divisor = quotient ? as_int(quotient->b) : nullptr;
  if (!divisor || *divisor <= 0 || names(range->extent, var_dom)) return nullptr;
  Range dividend = make_range(quotient->a, make_const(quotient->a.dtype(), 1));
  IntSet inner = axis_alone(dividend, var_dom, predicate, within_predicate, analyzer);
  if (!inner.defined()) return nullptr;
  PrimExpr high = floordiv(inner.max(), quotient->b) + range->extent - make_const(range->extent.dtype(), 1);
  return IntSet::interval(analyzer->simplify(floordiv(inner.min(), quotient->b)), analyzer->simplify(high));
}

}  // namespace

Array<IntSet> estimate_region_strict_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                           const PrimExpr& predicate, Analyzer* analyzer) {
  if (region.size() != 1) return boxes(region, var_dom, predicate, true, analyzer);
  IntSet axis = axis_alone(region[0], var_dom, predicate, true, analyzer);
  return axis.defined() ? Array<IntSet>{axis} : Array<IntSet>(nullptr);
}

Array<IntSet> estimate_region_lower_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                          const PrimExpr& predicate, Analyzer* analyzer) {
  return estimate_region_strict_bound(region, var_dom, predicate, analyzer);
}

Array<IntSet> estimate_region_upper_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                          const PrimExpr& predicate, Analyzer* analyzer) {
  Array<IntSet> exact = estimate_region_strict_bound(region, var_dom, predicate, analyzer);
  if (exact.defined()) return exact;
  Array<IntSet> out;
  {
    auto scope = analyzer->assume(predicate);
    out = eval_set(region, as_sets(var_dom), analyzer);
  }
  // An axis that the predicate bounds by the sum it is made of.
  for (size_t i = 0; i < region.size(); ++i)
    if (IntSet axis = axis_alone(region[i], var_dom, predicate, false, analyzer); axis.defined()) out.set(i, axis);
  return out;
}

}  // namespace tessera::arith
