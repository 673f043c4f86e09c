#include "tir/loops/interval.h"

#include "arith/interval.h"
#include "ir/prim/ops.h"

namespace tessera::loops {

Interval Interval::of(const Range& range) {
  if (is_one(range->extent)) return point(range->min);
  return {range->min, range->min + (range->extent - 1)};
}

Interval eval_interval(const PrimExpr& e, const IntervalOf& vars, arith::Analyzer& analyzer) {
  auto end = [](const PrimExpr& given, PrimExpr otherwise) { return given.defined() ? given : otherwise; };
  arith::IntervalOfVar domains = [&](const VarNode* var) -> std::optional<arith::Interval> {
    const Interval* known = vars(var);
    if (!known) return std::nullopt;
    return arith::Interval{end(known->min, arith::neg_inf()), end(known->max, arith::pos_inf())};
  };
  const arith::Interval found = arith::eval_interval(e, domains, &analyzer);
  if (found.is_point()) return Interval::point(analyzer.simplify(found.min));
  auto simple = [&](const PrimExpr& given) { return arith::is_end(given) ? analyzer.simplify(given) : PrimExpr(); };
  return {simple(found.min), simple(found.max)};
}

Interval eval_interval(const PrimExpr& e, const VarIntervals& vars, arith::Analyzer& analyzer) {
  auto lookup = [&](const VarNode* var) {
    auto known = vars.find(var);
    return known == vars.end() ? nullptr : &known->second;
  };
  return eval_interval(e, IntervalOf(lookup), analyzer);
}

namespace {

/// So many bounds that cannot be ordered say no more than none, and each further one takes longer to compare.
constexpr int kMaxUnorderedBounds = 16;

/// How many operands a tree of T (Min or Max) has.
template <class T>
int count_bounds(const PrimExpr& bound) {
  auto* node = bound.as<T>();
  return node ? count_bounds<T>(node->a) + count_bounds<T>(node->b) : 1;
}

template <class T>
bool has_few_bounds(const PrimExpr& x, const PrimExpr& y) {
  return count_bounds<T>(x) + count_bounds<T>(y) <= kMaxUnorderedBounds;
}

}  // namespace

Interval hull(const Interval& a, const Interval& b, arith::Analyzer& analyzer) {
  auto lesser = [&](const PrimExpr& x, const PrimExpr& y) {
    if (!x.defined() || !y.defined()) return PrimExpr();
    if (x.same_as(y) || analyzer.can_prove(x <= y)) return x;
    if (analyzer.can_prove(y <= x)) return y;
    return has_few_bounds<Min>(x, y) ? analyzer.simplify(min(x, y)) : PrimExpr();
  };
  auto greater = [&](const PrimExpr& x, const PrimExpr& y) {
    if (!x.defined() || !y.defined()) return PrimExpr();
    if (x.same_as(y) || analyzer.can_prove(x >= y)) return x;
    if (analyzer.can_prove(y >= x)) return y;
    return has_few_bounds<Max>(x, y) ? analyzer.simplify(max(x, y)) : PrimExpr();
  };
  return {lesser(a.min, b.min), greater(a.max, b.max)};
}

void widen(Box* box, const Box& more, arith::Analyzer& analyzer) {
  if (box->empty()) *box = more;
  else
    for (size_t i = 0; i < more.size(); ++i) (*box)[i] = hull((*box)[i], more[i], analyzer);
}

Range cover(const Interval& interval, const Range& otherwise, arith::Analyzer& analyzer) {
  if (!interval.is_bounded()) return otherwise;
  PrimExpr least = analyzer.simplify(interval.min);
  PrimExpr one = make_const(least.dtype(), 1);
  if (interval.is_point()) return make_range(least, one);
  return make_range(least, analyzer.simplify(interval.max + one - least));
}

bool is_same_range(const Range& a, const Range& b, arith::Analyzer& analyzer) {
  if (a.same_as(b)) return true;
  return analyzer.can_prove(equal(a->min, b->min)) && analyzer.can_prove(equal(a->extent, b->extent));
}

}  // namespace tessera::loops
