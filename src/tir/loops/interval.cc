#include "tir/loops/interval.h"

#include "base/stack.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/expr.h"

namespace tessera::loops {

Interval Interval::of(const Range& range) {
  if (is_one(range->extent)) return point(range->min);
  return {range->min, range->min + (range->extent - 1)};
}

namespace {

/// f(a, b) where both ends exist, else no bound.
PrimExpr join(const PrimExpr& a, const PrimExpr& b, PrimExpr (*f)(PrimExpr, PrimExpr)) {
  return a.defined() && b.defined() ? f(a, b) : PrimExpr();
}
/// f(a, b), or the one that exists.
PrimExpr join_any(const PrimExpr& a, const PrimExpr& b, PrimExpr (*f)(PrimExpr, PrimExpr)) {
  return a.defined() && b.defined() ? f(a, b) : a.defined() ? a : b;
}
PrimExpr plus(PrimExpr a, PrimExpr b) { return a + b; }
PrimExpr minus(PrimExpr a, PrimExpr b) { return a - b; }

class Evaluator {
 public:
  Evaluator(const IntervalOf& vars, arith::Analyzer& analyzer) : vars_(vars), analyzer_(analyzer) {}

  Interval operator()(const PrimExpr& e) {
    return on_enough_stack([&]() -> Interval { return visit(e); });
  }

 private:
  bool is_constant(const PrimExpr& e) const {
    return !uses_var(e, [&](const VarNode* var) { return vars_(var) != nullptr; });
  }

  Interval visit(const PrimExpr& e) {
    if (auto* var = e.as<VarNode>()) {
      const Interval* known = vars_(var);
      return known ? resolved(var, *known) : Interval::point(e);
    }
    if (is_constant(e)) return Interval::point(e);
    if (auto* add = e.as<Add>()) return sum((*this)(add->a), (*this)(add->b));
    if (auto* sub = e.as<Sub>()) {
      Interval b = (*this)(sub->b);
      return difference((*this)(sub->a), b);
    }
    if (auto* mul = e.as<Mul>()) {
      Interval a = (*this)(mul->a), b = (*this)(mul->b);
      return b.is_point() ? product(a, b.min) : a.is_point() ? product(b, a.min) : product_of_ranges(a, b);
    }
    if (auto* quotient = e.as<FloorDiv>()) return divided(quotient->a, quotient->b, floordiv);
    if (auto* quotient = e.as<Div>()) return divided(quotient->a, quotient->b, truncdiv);
    if (auto* rest = e.as<FloorMod>()) return remainder(rest->a, rest->b, false);
    if (auto* rest = e.as<Mod>()) return remainder(rest->a, rest->b, true);
    if (auto* least = e.as<Min>()) {
      Interval a = (*this)(least->a), b = (*this)(least->b);
      return {join(a.min, b.min, min), join_any(a.max, b.max, min)};
    }
    if (auto* most = e.as<Max>()) {
      Interval a = (*this)(most->a), b = (*this)(most->b);
      return {join_any(a.min, b.min, max), join(a.max, b.max, max)};
    }
    if (auto* choice = e.as<Select>())
      return hull((*this)(choice->true_value), (*this)(choice->false_value), analyzer_);
    if (auto* call = e.as<Call>()) {
      if (is_call(call, "tir.if_then_else")) return hull((*this)(call->args[1]), (*this)(call->args[2]), analyzer_);
      if (is_call(call, "tir.likely")) return (*this)(call->args[0]);
    }
    if (auto* as = e.as<Cast>()) {
      if (!as->value.dtype().is_integral() || !as->dtype.is_integral()) return Interval::everything();
      Interval value = (*this)(as->value);
      if (value.is_point()) return Interval::point(cast(as->dtype, value.min));
      if (!value.is_bounded()) return value;
      return {cast(as->dtype, value.min), cast(as->dtype, value.max)};
    }
    return Interval::everything();
  }

  /// The ends of a variable's interval may mention other variables (a loop whose extent depends on an outer loop).
  Interval resolved(const VarNode* var, const Interval& known) {
    auto is_open = [&](const PrimExpr& end) {
      return end.defined() && end.get() != static_cast<const PrimExprNode*>(var) && !is_constant(end);
    };
    if (depth_ > 8 || (!is_open(known.min) && !is_open(known.max))) return known;
    ++depth_;
    Interval low = known.min.defined() ? (*this)(known.min) : Interval();
    Interval high = known.is_point() ? low : known.max.defined() ? (*this)(known.max) : Interval();
    --depth_;
    if (known.is_point() && low.is_point()) return low;
    return {low.min, high.max};
  }

  Interval sum(const Interval& a, const Interval& b) {
    if (a.is_point() && b.is_point()) return Interval::point(a.min + b.min);
    return {join(a.min, b.min, plus), join(a.max, b.max, plus)};
  }
  Interval difference(const Interval& a, const Interval& b) {
    if (a.is_point() && b.is_point()) return Interval::point(a.min - b.min);
    return {join(a.min, b.max, minus), join(a.max, b.min, minus)};
  }
  Interval product(const Interval& a, const PrimExpr& by) {
    if (a.is_point()) return Interval::point(a.min * by);
    if (is_zero(by)) return Interval::point(by);
    auto times = [&](const PrimExpr& end) { return end.defined() ? end * by : PrimExpr(); };
    PrimExpr zero = make_zero(by.dtype());
    if (analyzer_.can_prove(by >= zero)) return {times(a.min), times(a.max)};
    if (analyzer_.can_prove(by <= zero)) return {times(a.max), times(a.min)};
    if (!a.is_bounded()) return Interval::everything();
    PrimExpr up = by >= zero;
    return {select(up, times(a.min), times(a.max)), select(up, times(a.max), times(a.min))};
  }
  Interval product_of_ranges(const Interval& a, const Interval& b) {
    if (!a.is_bounded() || !b.is_bounded()) return Interval::everything();
    PrimExpr zero = make_zero(a.min.dtype());
    if (analyzer_.can_prove(a.min >= zero) && analyzer_.can_prove(b.min >= zero)) return {a.min * b.min, a.max * b.max};
    PrimExpr p = a.min * b.min, q = a.min * b.max, r = a.max * b.min, s = a.max * b.max;
    return {min(min(p, q), min(r, s)), max(max(p, q), max(r, s))};
  }
  // Division by zero does not happen: a divisor that is never negative is positive.
  Interval divided(const PrimExpr& a, const PrimExpr& b, PrimExpr (*divide)(PrimExpr, PrimExpr)) {
    Interval top = (*this)(a), by = (*this)(b);
    if (!by.is_point()) return Interval::everything();
    if (top.is_point()) return Interval::point(divide(top.min, by.min));
    PrimExpr zero = make_zero(by.min.dtype());
    auto quotient = [&](const PrimExpr& end) { return end.defined() ? divide(end, by.min) : PrimExpr(); };
    if (analyzer_.can_prove(by.min >= zero)) return {quotient(top.min), quotient(top.max)};
    if (analyzer_.can_prove(by.min <= zero)) return {quotient(top.max), quotient(top.min)};
    if (!top.is_bounded()) return Interval::everything();
    PrimExpr up = by.min > zero;
    return {select(up, quotient(top.min), quotient(top.max)), select(up, quotient(top.max), quotient(top.min))};
  }
  Interval remainder(const PrimExpr& a, const PrimExpr& b, bool truncates) {
    Interval top = (*this)(a), by = (*this)(b);
    if (!by.is_point()) return Interval::everything();
    PrimExpr divisor = by.min, one = make_const(divisor.dtype(), 1), zero = make_zero(divisor.dtype());
    if (top.is_point()) return Interval::point(truncates ? truncmod(top.min, divisor) : floormod(top.min, divisor));
    if (!analyzer_.can_prove(divisor >= zero)) {
      PrimExpr most = abs(divisor) - one;
      return {zero - most, most};
    }
    bool is_floor = !truncates || (top.min.defined() && analyzer_.can_prove(top.min >= zero));
    if (!is_floor) return {one - divisor, divisor - one};
    if (top.is_bounded()) {
      PrimExpr first = analyzer_.simplify(floordiv(top.min, divisor));
      PrimExpr last = analyzer_.simplify(floordiv(top.max, divisor));
      if (analyzer_.can_prove(equal(first, last))) return {top.min - first * divisor, top.max - first * divisor};
    }
    return {zero, divisor - one};
  }

  const IntervalOf& vars_;
  arith::Analyzer& analyzer_;
  int depth_ = 0;
};

}  // namespace

Interval eval_interval(const PrimExpr& e, const IntervalOf& vars, arith::Analyzer& analyzer) {
  Interval found = Evaluator(vars, analyzer)(e);
  if (found.is_point()) return Interval::point(analyzer.simplify(found.min));
  if (found.min.defined()) found.min = analyzer.simplify(found.min);
  if (found.max.defined()) found.max = analyzer.simplify(found.max);
  return found;
}

Interval hull(const Interval& a, const Interval& b, arith::Analyzer& analyzer) {
  auto lesser = [&](const PrimExpr& x, const PrimExpr& y) {
    if (!x.defined() || !y.defined()) return PrimExpr();
    if (x.same_as(y) || analyzer.can_prove(x <= y)) return x;
    return analyzer.can_prove(y <= x) ? y : analyzer.simplify(min(x, y));
  };
  auto greater = [&](const PrimExpr& x, const PrimExpr& y) {
    if (!x.defined() || !y.defined()) return PrimExpr();
    if (x.same_as(y) || analyzer.can_prove(x >= y)) return x;
    return analyzer.can_prove(y >= x) ? y : analyzer.simplify(max(x, y));
  };
  return {lesser(a.min, b.min), greater(a.max, b.max)};
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
