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

}  // namespace

Array<IntSet> estimate_region_strict_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                           const PrimExpr& predicate, Analyzer* analyzer) {
  std::vector<PrimExpr> starts;
  for (const Range& range : region) {
    if (names(range->extent, var_dom)) return nullptr;
    starts.push_back(range->min);
  }
  IterMapResult found =
      detect_iter_map(Array<PrimExpr>(starts), var_dom, predicate, IterMapLevel::Surjective, analyzer);
  if (found->indices.size() != region.size()) return nullptr;
  if (!is_zero(found->padding_predicate)) return nullptr;
  Array<IntSet> out;
  for (size_t i = 0; i < region.size(); ++i) {
    IntSet axis = axis_box(found->indices[i], region[i]->extent, analyzer);
    if (!axis.defined()) return nullptr;
    out.push_back(axis);
  }
  return out;
}

Array<IntSet> estimate_region_lower_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                          const PrimExpr& predicate, Analyzer* analyzer) {
  return estimate_region_strict_bound(region, var_dom, predicate, analyzer);
}

Array<IntSet> estimate_region_upper_bound(const Array<Range>& region, const Map<Var, Range>& var_dom,
                                          const PrimExpr& predicate, Analyzer* analyzer) {
  Array<IntSet> exact = estimate_region_strict_bound(region, var_dom, predicate, analyzer);
  if (exact.defined()) return exact;
  auto scope = analyzer->assume(predicate);
  return eval_set(region, as_sets(var_dom), analyzer);
}

}  // namespace tessera::arith
