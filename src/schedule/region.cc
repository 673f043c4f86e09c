#include "schedule/region.h"

#include "arith/region_bound.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "schedule/unfuse.h"

namespace tessera::schedule {
namespace {

Map<Var, PrimExpr> bindings_of(const BlockRealize* realize) {
  Map<Var, PrimExpr> out;
  for (size_t i = 0; i < realize->iter_values.size(); ++i)
    out.set(realize->block->iter_vars[i]->var, realize->iter_values[i]);
  return out;
}

}  // namespace

Array<arith::IntSet> touched(const Cursor& cursor, const BufferRegion& region, const std::vector<const For*>& relaxed,
                             arith::Analyzer& analyzer) {
  const Map<Var, PrimExpr> values = bindings_of(cursor.realize());
  Map<Var, Range> domains;
  for (const For* loop : relaxed) domains.set(loop->loop_var, range_of(loop));
  Array<Range> bounds;
  for (const Range& range : region->region)
    bounds.push_back(make_range(substitute(range->min, values), substitute(range->extent, values)));
  const PrimExpr& guard = cursor.realize()->predicate;
  if (is_one(guard)) return arith::eval_set(bounds, arith::as_sets(domains), &analyzer);
  // Each axis alone: where the guard says nothing of it, the loops do.
  Array<arith::IntSet> out = arith::estimate_region_upper_bound(bounds, domains, guard, &analyzer);
  Array<arith::IntSet> unguarded = arith::eval_set(bounds, arith::as_sets(domains), &analyzer);
  for (size_t i = 0; i < out.size(); ++i) {
    const arith::IntSet set = out[i], whole = unguarded[i];
    bool is_known =
        set.has_lower_bound() && set.has_upper_bound() && whole.has_lower_bound() && whole.has_upper_bound();
    const int64_t* narrow = is_known ? as_int(analyzer.simplify(set.max() - set.min())) : nullptr;
    if (!narrow) out.set(i, whole);
  }
  return out;
}

Array<arith::IntSet> exact_box(const Cursor& cursor, const BufferRegion& region, const std::vector<const For*>& relaxed,
                               arith::Analyzer& analyzer) {
  const Map<Var, PrimExpr> values = bindings_of(cursor.realize());
  Map<Var, Range> domains;
  for (const For* loop : relaxed) domains.set(loop->loop_var, range_of(loop));
  Array<PrimExpr> starts;
  for (const Range& range : region->region) starts.push_back(substitute(range->min, values));
  Unfused parts = unfuse(starts, domains);
  Array<Range> bounds;
  for (size_t i = 0; i < starts.size(); ++i) {
    PrimExpr extent = substitute(region->region[i]->extent, values);
    if (uses_var(extent, [&](const VarNode* var) { return domains.count(Var(var)); })) return nullptr;
    bounds.push_back(make_range(parts.values[i], extent));
  }
  return arith::estimate_region_strict_bound(bounds, parts.domains, bool_imm(true), &analyzer);
}

arith::IntSet domain_box(const Cursor& cursor, const Range& range, arith::Analyzer& analyzer) {
  Map<Var, Range> domains;
  for (const IterVar& iter : cursor.block()->iter_vars) domains.set(iter->var, iter->dom);
  Array<arith::IntSet> box = arith::estimate_region_strict_bound({range}, domains, bool_imm(true), &analyzer);
  return box.defined() ? arith::IntSet(box[0]) : arith::IntSet::nothing();
}

Array<arith::IntSet> hull(const Array<arith::IntSet>& a, const Array<arith::IntSet>& b, arith::Analyzer& analyzer) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Array<arith::IntSet> out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(arith::union_sets({a[i], b[i]}, &analyzer));
  return out;
}

Array<Range> ranges_of(const Array<arith::IntSet>& box, const Buffer& buffer, arith::Analyzer& analyzer) {
  Array<Range> out;
  for (size_t i = 0; i < buffer->shape.size(); ++i) {
    const PrimExpr& length = buffer->shape[i];
    PrimExpr zero = make_zero(length.dtype());
    if (i >= box.size() || !box[i].has_lower_bound() || !box[i].has_upper_bound()) {
      out.push_back(make_range(zero, length));
      continue;
    }
    PrimExpr first = box[i].min(), end = box[i].max() + 1;
    if (!analyzer.can_prove(first >= zero)) first = max(first, zero);
    if (!analyzer.can_prove(end <= length)) end = min(end, length);
    first = analyzer.simplify(first);
    out.push_back(make_range(first, analyzer.simplify(end - first)));
  }
  return out;
}

Array<BufferRegion> relax(const Array<BufferRegion>& regions, const Array<IterVar>& iters, arith::Analyzer& analyzer) {
  arith::SetOfVar domains;
  for (const IterVar& iter : iters) domains.set(iter->var, arith::IntSet::from_range(iter->dom));
  Array<BufferRegion> out;
  for (const BufferRegion& region : regions) {
    Array<Range> box;
    for (size_t i = 0; i < region->region.size(); ++i) {
      arith::IntSet set = arith::eval_set(region->region[i], domains, &analyzer);
      PrimExpr length = region->buffer->shape[i];
      Range whole = make_range(make_zero(length.dtype()), length);
      bool is_known = set.has_lower_bound() && set.has_upper_bound();
      PrimExpr first = is_known ? analyzer.simplify(set.min()) : PrimExpr();
      box.push_back(is_known ? make_range(first, analyzer.simplify(set.max() - first + 1)) : whole);
    }
    out.push_back(with(region, &BufferRegionNode::region, box));
  }
  return out;
}

}  // namespace tessera::schedule
