#include "tir/loops/split_fuse.h"

#include "ir/prim/ops.h"

namespace tessera::loops {

PrimExpr ceil_quotient(const PrimExpr& x, const PrimExpr& y, arith::Analyzer& analyzer) {
  if (analyzer.can_prove(equal(floormod(x, y), make_zero(x.dtype())))) return analyzer.simplify(floordiv(x, y));
  return analyzer.simplify(floordiv(x + (y - 1), y));
}

std::pair<Range, Range> split_domains(const Range& parent, const PrimExpr& factor, const PrimExpr& nparts,
                                      bool keep_length, arith::Analyzer& analyzer) {
  const PrimExpr& extent = parent->extent;
  PrimExpr zero = make_zero(extent.dtype());
  const PrimExpr given = cast(extent.dtype(), factor ? factor : nparts);
  PrimExpr length = !keep_length && analyzer.can_prove(extent < given) ? extent : given;
  Range stated = make_range(zero, length), other = make_range(zero, ceil_quotient(extent, given, analyzer));
  return factor ? std::pair(other, stated) : std::pair(stated, other);
}

PrimExpr split_parent_index(const PrimExpr& outer, const PrimExpr& inner, const Range& parent,
                            const Range& inner_domain) {
  PrimExpr index = outer * inner_domain->extent + inner;
  return is_zero(parent->min) ? index : index + parent->min;
}

std::pair<PrimExpr, PrimExpr> split_part_indices(const PrimExpr& index, const Range& parent,
                                                 const Range& inner_domain) {
  PrimExpr offset = is_zero(parent->min) ? index : index - parent->min;
  return {floordiv(offset, inner_domain->extent), floormod(offset, inner_domain->extent)};
}

bool split_is_exact(const Range& parent, const Range& outer, const Range& inner, arith::Analyzer& analyzer) {
  return analyzer.can_prove(equal(outer->extent * inner->extent, parent->extent));
}

bool is_whole(const Interval& interval, const Range& domain, arith::Analyzer& analyzer) {
  if (!interval.is_bounded()) return false;
  Interval whole = Interval::of(domain);
  auto is_equal = [&](const PrimExpr& a, const PrimExpr& b) { return a.same_as(b) || analyzer.can_prove(equal(a, b)); };
  return is_equal(interval.min, whole.min) && is_equal(interval.max, whole.max);
}

Interval split_parent_interval(const Interval& outer, const Interval& inner, const Range& parent,
                               const Range& outer_domain, const Range& inner_domain, arith::Analyzer& analyzer) {
  if (is_whole(outer, outer_domain, analyzer) && is_whole(inner, inner_domain, analyzer)) return Interval::of(parent);
  if (!outer.is_bounded() || !inner.is_bounded()) return Interval::everything();
  PrimExpr least = split_parent_index(outer.min, inner.min, parent, inner_domain);
  if (outer.is_point() && inner.is_point()) return Interval::point(analyzer.simplify(least));
  return {analyzer.simplify(least), analyzer.simplify(split_parent_index(outer.max, inner.max, parent, inner_domain))};
}

Range fused_domain(const Range& outer, const Range& inner, arith::Analyzer& analyzer) {
  PrimExpr extent = outer->extent * inner->extent;
  return make_range(make_zero(extent.dtype()), analyzer.simplify(extent));
}

PrimExpr fused_index(const PrimExpr& outer, const PrimExpr& inner, const Range& outer_domain,
                     const Range& inner_domain) {
  PrimExpr o = is_zero(outer_domain->min) ? outer : outer - outer_domain->min;
  PrimExpr i = is_zero(inner_domain->min) ? inner : inner - inner_domain->min;
  return o * inner_domain->extent + i;
}

std::pair<PrimExpr, PrimExpr> fuse_part_indices(const PrimExpr& fused, const Range& outer_domain,
                                                const Range& inner_domain) {
  PrimExpr outer = floordiv(fused, inner_domain->extent), inner = floormod(fused, inner_domain->extent);
  if (!is_zero(outer_domain->min)) outer = outer + outer_domain->min;
  if (!is_zero(inner_domain->min)) inner = inner + inner_domain->min;
  return {cast(outer_domain->extent.dtype(), outer), cast(inner_domain->extent.dtype(), inner)};
}

std::pair<Interval, Interval> fuse_part_intervals(const Interval& fused, const Range& fused_domain,
                                                  const Range& outer_domain, const Range& inner_domain,
                                                  arith::Analyzer& analyzer) {
  if (!fused.is_bounded() || is_whole(fused, fused_domain, analyzer))
    return {Interval::of(outer_domain), Interval::of(inner_domain)};
  auto first = fuse_part_indices(fused.min, outer_domain, inner_domain);
  if (fused.is_point())
    return {Interval::point(analyzer.simplify(first.first)), Interval::point(analyzer.simplify(first.second))};
  auto last = fuse_part_indices(fused.max, outer_domain, inner_domain);
  Interval outer{analyzer.simplify(first.first), analyzer.simplify(last.first)};
  PrimExpr length = analyzer.simplify(fused.max - fused.min + 1), zero = make_zero(length.dtype());
  if (auto* known = as_int(length); known && *known <= 0) return {outer, Interval::of(inner_domain)};
  bool stays_in_row = analyzer.can_prove(equal(floormod(inner_domain->extent, length), zero)) &&
                      analyzer.can_prove(equal(floormod(fused.min, length), zero));
  if (!stays_in_row) return {outer, Interval::of(inner_domain)};
  PrimExpr least = analyzer.simplify(first.second);
  return {Interval::point(outer.min), {least, analyzer.simplify(least + (length - 1))}};
}

}  // namespace tessera::loops
