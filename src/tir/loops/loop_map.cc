#include "tir/loops/loop_map.h"

#include "ir/prim/ops.h"

namespace tessera::loops {
namespace {

using Indices = LoopMap::Indices;
using Intervals = LoopMap::Intervals;

PrimExpr from_zero(const PrimExpr& index, const Range& domain) {
  return is_zero(domain->min) ? index : index - domain->min;
}

PrimExpr from_min(const PrimExpr& index, const Range& domain) {
  return is_zero(domain->min) ? index : index + domain->min;
}

Range range_from_zero(const PrimExpr& extent) { return make_range(make_zero(extent.dtype()), extent); }

PrimExpr row_major(const PrimExpr& outer, const PrimExpr& inner, const Range& inner_domain) {
  return outer * inner_domain->extent + inner;
}

Interval split_interval(const Interval& outer, const Interval& inner, const Range& axis, const Range& outer_domain,
                        const Range& inner_domain, arith::Analyzer& analyzer) {
  if (is_whole(outer, outer_domain, analyzer) && is_whole(inner, inner_domain, analyzer)) return Interval::of(axis);
  if (!outer.is_bounded() || !inner.is_bounded()) return Interval::everything();
  PrimExpr first = analyzer.simplify(from_min(row_major(outer.min, inner.min, inner_domain), axis));
  if (outer.is_point() && inner.is_point()) return Interval::point(first);
  return {first, analyzer.simplify(from_min(row_major(outer.max, inner.max, inner_domain), axis))};
}

Interval shifted_interval(const Interval& loop, const Range& axis, const Range& domain, arith::Analyzer& analyzer) {
  if (loop.is_point()) return Interval::point(analyzer.simplify(loop.min + axis->min));
  if (is_whole(loop, domain, analyzer)) return Interval::of(axis);
  if (!loop.is_bounded()) return loop;
  return {analyzer.simplify(loop.min + axis->min), analyzer.simplify(loop.max + axis->min)};
}

Indices fused_parts(const PrimExpr& loop, const Range& outer, const Range& inner) {
  return {cast(outer->extent.dtype(), from_min(floordiv(loop, inner->extent), outer)),
          cast(inner->extent.dtype(), from_min(floormod(loop, inner->extent), inner))};
}

Intervals fused_intervals(const Interval& loop, const Range& domain, const Range& outer, const Range& inner,
                          arith::Analyzer& analyzer) {
  if (!loop.is_bounded() || is_whole(loop, domain, analyzer)) return {Interval::of(outer), Interval::of(inner)};
  Indices first = fused_parts(loop.min, outer, inner);
  if (loop.is_point())
    return {Interval::point(analyzer.simplify(first[0])), Interval::point(analyzer.simplify(first[1]))};
  Indices last = fused_parts(loop.max, outer, inner);
  Interval rows{analyzer.simplify(first[0]), analyzer.simplify(last[0])};
  PrimExpr length = analyzer.simplify(loop.max - loop.min + 1), zero = make_zero(length.dtype());
  if (auto* known = as_int(length); known && *known <= 0) return {rows, Interval::of(inner)};
  bool stays_in_row = analyzer.can_prove(equal(floormod(inner->extent, length), zero)) &&
                      analyzer.can_prove(equal(floormod(loop.min, length), zero));
  if (!stays_in_row) return {rows, Interval::of(inner)};
  PrimExpr column = analyzer.simplify(first[1]);
  return {Interval::point(rows.min), {column, analyzer.simplify(column + (length - 1))}};
}

}  // namespace

PrimExpr ceil_quotient(const PrimExpr& x, const PrimExpr& y, arith::Analyzer& analyzer) {
  if (analyzer.can_prove(equal(floormod(x, y), make_zero(x.dtype())))) return analyzer.simplify(floordiv(x, y));
  return analyzer.simplify(floordiv(x + (y - 1), y));
}

bool is_whole(const Interval& interval, const Range& domain, arith::Analyzer& analyzer) {
  if (!interval.is_bounded()) return false;
  Interval whole = Interval::of(domain);
  auto is_equal = [&](const PrimExpr& a, const PrimExpr& b) { return a.same_as(b) || analyzer.can_prove(equal(a, b)); };
  return is_equal(interval.min, whole.min) && is_equal(interval.max, whole.max);
}

LoopMap LoopMap::split(PrimExpr factor, PrimExpr nparts) {
  LoopMap out(Kind::Split);
  out.factor_ = std::move(factor);
  out.nparts_ = std::move(nparts);
  return out;
}

LoopMap::Ranges LoopMap::loop_domains(const Ranges& axes, bool keep_length, arith::Analyzer& analyzer) const {
  if (kind_ == Kind::Unit) return {make_range(0, 1)};
  const PrimExpr& extent = axes[0]->extent;
  if (kind_ == Kind::Shift) return {range_from_zero(extent)};
  if (kind_ == Kind::Fuse) return {range_from_zero(analyzer.simplify(extent * axes[1]->extent))};
  const PrimExpr given = cast(extent.dtype(), factor_ ? factor_ : nparts_);
  PrimExpr length = !keep_length && analyzer.can_prove(extent < given) ? extent : given;
  Range stated = range_from_zero(length);
  Range other = make_range(make_zero(extent.dtype()), ceil_quotient(extent, given, analyzer));
  return factor_ ? Ranges{other, stated} : Ranges{stated, other};
}

Indices LoopMap::axis_indices(const Indices& loops, const Ranges& axis_domains, const Ranges& loop_domains) const {
  if (kind_ == Kind::Unit) return {};
  if (kind_ == Kind::Shift) return {from_min(loops[0], axis_domains[0])};
  if (kind_ == Kind::Fuse) return fused_parts(loops[0], axis_domains[0], axis_domains[1]);
  return {from_min(row_major(loops[0], loops[1], loop_domains[1]), axis_domains[0])};
}

Indices LoopMap::loop_indices(const Indices& axes, const Ranges& axis_domains, const Ranges& loop_domains) const {
  if (kind_ == Kind::Unit) return {make_zero(loop_domains[0]->extent.dtype())};
  if (kind_ == Kind::Shift) return {axes[0] - axis_domains[0]->min};
  PrimExpr first = from_zero(axes[0], axis_domains[0]);
  if (kind_ == Kind::Fuse) return {row_major(first, from_zero(axes[1], axis_domains[1]), axis_domains[1])};
  const PrimExpr& length = loop_domains[1]->extent;
  return {floordiv(first, length), floormod(first, length)};
}

Intervals LoopMap::axis_intervals(const Intervals& loops, const Ranges& axis_domains, const Ranges& loop_domains,
                                  arith::Analyzer& analyzer) const {
  if (kind_ == Kind::Unit) return {};
  if (kind_ == Kind::Shift) return {shifted_interval(loops[0], axis_domains[0], loop_domains[0], analyzer)};
  if (kind_ == Kind::Fuse)
    return fused_intervals(loops[0], loop_domains[0], axis_domains[0], axis_domains[1], analyzer);
  return {split_interval(loops[0], loops[1], axis_domains[0], loop_domains[0], loop_domains[1], analyzer)};
}

bool LoopMap::is_exact(const Ranges& axis_domains, const Ranges& loop_domains, arith::Analyzer& analyzer) const {
  return kind_ != Kind::Split ||
         analyzer.can_prove(equal(loop_domains[0]->extent * loop_domains[1]->extent, axis_domains[0]->extent));
}

}  // namespace tessera::loops
