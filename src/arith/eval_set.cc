#include "arith/int_set.h"
#include "arith/interval.h"
#include "arith/kind.h"
#include "base/stack.h"
#include "ir/rewrite.h"

namespace tessera::arith {
namespace {

class Evaluator {
 public:
  Evaluator(const IntervalOfVar& domains, Analyzer* analyzer) : domains_(domains), analyzer_(analyzer) {}

  Interval operator()(const PrimExpr& e) {
    return on_enough_stack([&] { return visit(e); });
  }

 private:
  bool uses_domain(const PrimExpr& e) {
    return uses_var(e, [&](const VarNode* var) { return domains_(var).has_value(); });
  }

  Interval visit(const PrimExpr& e) {
    Kind kind = kind_of(e);
    if (kind == Kind::IntImm) return point(e);
    if (kind == Kind::Var) return of_var(e);
    if (is_arithmetic(kind) && e.dtype().is_integral())
      return binary(kind, (*this)(as_binary(e)->a), (*this)(as_binary(e)->b), e);
    if (kind == Kind::Ramp) return lanes(static_cast<const Ramp*>(e.get()));
    if (kind == Kind::Broadcast) return (*this)(static_cast<const Broadcast*>(e.get())->value);
    if (!uses_domain(e)) return point(e);
    if (auto* choice = e.as<Select>()) return hull((*this)(choice->false_value), (*this)(choice->true_value));
    if (auto* call = e.as<Call>()) {
      if (is_call(e, "tir.if_then_else")) return hull((*this)(call->args[2]), (*this)(call->args[1]));
      if (is_call(e, "tir.likely")) return (*this)(call->args[0]);
    }
    if (auto* as = e.as<Cast>()) {
      if (!e.dtype().is_integral() || !as->value.dtype().is_integral()) return everything();
      Interval inner = (*this)(as->value);
      if (inner.is_point()) return point(cast(e.dtype(), inner.min));
      auto convert = [&](const PrimExpr& end) { return is_end(end) ? cast(e.dtype(), end) : end; };
      return {convert(inner.min), convert(inner.max)};
    }
    return everything();
  }

  Interval lanes(const Ramp* ramp) {
    const int64_t* stride = as_int(ramp->stride);
    if (!stride) return everything();
    PrimExpr reach = ramp->stride * (ramp->lanes - 1), zero = make_zero(reach.dtype());
    return binary(Kind::Add, (*this)(ramp->base), *stride >= 0 ? Interval{zero, reach} : Interval{reach, zero},
                  nullptr);
  }

  /// The ends of a variable's interval may name variables that range themselves: a loop whose extent depends on an outer loop.
  Interval of_var(const PrimExpr& e) {
    std::optional<Interval> known = domains_(static_cast<const VarNode*>(e.get()));
    if (!known) return point(e);
    auto ranges = [&](const PrimExpr& end) { return is_end(end) && !end.same_as(e) && uses_domain(end); };
    if (depth_ > kMaxDepth || (!ranges(known->min) && !ranges(known->max))) return *known;
    ++depth_;
    Interval low = is_end(known->min) ? (*this)(known->min) : everything();
    Interval high = known->is_point() ? low : is_end(known->max) ? (*this)(known->max) : everything();
    --depth_;
    return known->is_point() && low.is_point() ? low : Interval{low.min, high.max};
  }

  bool at_least(const PrimExpr& e, int64_t low) {
    return is_end(e) && (analyzer_->can_prove_greater_equal(e, low) ||
                         (!as_int(e) && analyzer_->can_prove(e >= make_const(e.dtype(), low))));
  }
  bool at_most(const PrimExpr& e, int64_t high) {
    return is_end(e) && (analyzer_->can_prove_less(e, high + 1) ||
                         (!as_int(e) && analyzer_->can_prove(e <= make_const(e.dtype(), high))));
  }

  Interval binary(Kind kind, const Interval& a, const Interval& b, const PrimExpr& e) {
    if (a.is_point() && b.is_point()) {
      bool same = e.defined() && as_binary(e)->a.same_as(a.min) && as_binary(e)->b.same_as(b.min);
      return point(same ? e : combine(kind, a.min, b.min));
    }
    if (a.is_nothing() || b.is_nothing()) return nothing();
    switch (kind) {
      case Kind::Add:
        return {is_end(a.min) && is_end(b.min) ? a.min + b.min : neg_inf(),
                is_end(a.max) && is_end(b.max) ? a.max + b.max : pos_inf()};
      case Kind::Sub:
        return {is_end(a.min) && is_end(b.max) ? a.min - b.max : neg_inf(),
                is_end(a.max) && is_end(b.min) ? a.max - b.min : pos_inf()};
      case Kind::Min: return {lesser(a.min, b.min), lesser(a.max, b.max)};
      case Kind::Max: return {greater(a.min, b.min), greater(a.max, b.max)};
      case Kind::Mul: return b.is_point() ? scale(a, b.min) : a.is_point() ? scale(b, a.min) : multiply(a, b);
      case Kind::Div:
      case Kind::FloorDiv: return divide(kind, a, b);
      default: return remainder(kind, a, b);
    }
  }
  static PrimExpr combine(Kind kind, const PrimExpr& a, const PrimExpr& b) {
    switch (kind) {
      case Kind::Add: return a + b;
      case Kind::Sub: return a - b;
      case Kind::Mul: return a * b;
      case Kind::Div: return truncdiv(a, b);
      case Kind::Mod: return truncmod(a, b);
      case Kind::FloorDiv: return floordiv(a, b);
      case Kind::FloorMod: return floormod(a, b);
      case Kind::Min: return min(a, b);
      default: return max(a, b);
    }
  }

  /// The image of `a` under a map that rises where `by` is not negative and else falls; a sign that is not known is a condition
  /// of the ends.
  template <class F>
  Interval monotone(const Interval& a, const PrimExpr& by, const F& map) {
    auto rising = [&](const PrimExpr& end) { return is_end(end) ? map(end) : end; };
    auto falling = [&](const PrimExpr& end) {
      return is_end(end) ? map(end) : is_pos_inf(end) ? neg_inf() : pos_inf();
    };
    if (at_least(by, 0)) return {rising(a.min), rising(a.max)};
    if (at_most(by, 0)) return {falling(a.max), falling(a.min)};
    if (!a.is_bounded()) return everything();
    PrimExpr up = by >= make_zero(by.dtype());
    return {select(up, map(a.min), map(a.max)), select(up, map(a.max), map(a.min))};
  }

  Interval scale(const Interval& a, const PrimExpr& by) {
    if (is_zero(by)) return point(by);
    return monotone(a, by, [&](const PrimExpr& end) { return end * by; });
  }
  Interval multiply(const Interval& a, const Interval& b) {
    if (!a.is_bounded() || !b.is_bounded()) return everything();
    if (at_least(a.min, 0) && at_least(b.min, 0)) return {a.min * b.min, a.max * b.max};
    PrimExpr low = lesser(lesser(a.min * b.min, a.min * b.max), lesser(a.max * b.min, a.max * b.max));
    PrimExpr high = greater(greater(a.min * b.min, a.min * b.max), greater(a.max * b.min, a.max * b.max));
    return {low, high};
  }

  // Division by zero does not happen: a divisor that is never negative is positive.
  Interval divide(Kind kind, const Interval& a, const Interval& b) {
    if (b.is_point()) {
      if (is_zero(b.min)) throw Error(ValueError) << "division by zero in the domain of an index";
      return monotone(a, b.min, [&](const PrimExpr& end) { return combine(kind, end, b.min); });
    }
    if (!b.is_bounded() || !a.is_bounded() || !at_least(b.min, 1)) return everything();
    auto by = [&](const PrimExpr& end, const PrimExpr& d) { return combine(kind, end, d); };
    if (at_least(a.min, 0)) return {by(a.min, b.max), by(a.max, b.min)};
    return {lesser(by(a.min, b.min), by(a.min, b.max)), greater(by(a.max, b.min), by(a.max, b.max))};
  }

  Interval remainder(Kind kind, const Interval& a, const Interval& b) {
    if (!b.is_point()) {
      if (!is_end(b.max) || !at_least(b.min, 1)) return everything();
      PrimExpr top = b.max - 1;
      if (kind == Kind::FloorMod || at_least(a.min, 0)) return {make_zero(top.dtype()), top};
      return {make_zero(top.dtype()) - top, top};
    }
    const PrimExpr& d = b.min;
    if (is_zero(d)) throw Error(ValueError) << "remainder by zero in the domain of an index";
    PrimExpr zero = make_zero(d.dtype());
    if (!at_least(d, 0)) {
      if (kind == Kind::FloorMod && at_most(d, 0)) return {d + 1, zero};
      PrimExpr top = abs(d) - 1;
      return {zero - top, top};
    }
    PrimExpr top = d - 1;
    bool agrees = kind == Kind::FloorMod || at_least(a.min, 0);
    if (agrees && a.is_bounded()) {
      // The whole set within one period keeps its shape.
      PrimExpr low = analyzer_->simplify(floordiv(a.min, d)), high = analyzer_->simplify(floordiv(a.max, d));
      if (analyzer_->can_prove_equal(low, high)) return {a.min - low * d, a.max - low * d};
    }
    if (agrees) return {zero, top};
    return {at_most(a.max, 0) || !at_least(a.min, 0) ? zero - top : zero, at_most(a.max, 0) ? zero : top};
  }

  static constexpr int kMaxDepth = 8;
  const IntervalOfVar& domains_;
  Analyzer* analyzer_;
  int depth_ = 0;
};

IntervalOfVar domains_of(const SetOfVar& sets) {
  return [&](const VarNode* var) -> std::optional<Interval> {
    IntSet set = sets.get_or_null(Var(var));
    if (!set.defined()) return std::nullopt;
    return set.is_single_point() ? point(set.min()) : Interval{set.min(), set.max()};
  };
}

/// A variable that ranges and stands twice: its occurrences may cancel.
bool repeats_a_range(const PrimExpr& e, const SetOfVar& domains) {
  constexpr int kMaxDepth = 64;
  std::unordered_map<const Object*, int> uses;
  bool repeats = false;
  auto count = [&](auto& self, const PrimExpr& part, int depth) -> void {
    if (depth > kMaxDepth) return;
    if (is_binary(kind_of(part))) {
      self(self, as_binary(part)->a, depth + 1);
      self(self, as_binary(part)->b, depth + 1);
    } else if (auto* var = part.as<VarNode>()) {
      IntSet set = domains.get_or_null(Var(var));
      if (set.defined() && !set.is_single_point() && ++uses[var] > 1) repeats = true;
    }
  };
  count(count, e, 0);
  return repeats;
}

Interval interval_of(const PrimExpr& e, const SetOfVar& domains, Analyzer* analyzer) {
  return eval_interval(repeats_a_range(e, domains) ? analyzer->simplify(e) : e, domains_of(domains), analyzer);
}

}  // namespace

Interval eval_interval(const PrimExpr& e, const IntervalOfVar& domains, Analyzer* analyzer) {
  return Evaluator(domains, analyzer)(e);
}

IntSet eval_set(const PrimExpr& e, const SetOfVar& domains, Analyzer* analyzer) {
  return with_analyzer(analyzer, [&](Analyzer* a) { return as_set(interval_of(e, domains, a), a); });
}

IntSet eval_set(const IntSet& set, const SetOfVar& domains, Analyzer* analyzer) {
  if (set.is_nothing()) return set;
  return with_analyzer(analyzer, [&](Analyzer* a) {
    Interval low = set.has_lower_bound() ? interval_of(set.min(), domains, a) : everything();
    if (set.is_single_point()) return as_set(low, a);
    Interval high = set.has_upper_bound() ? interval_of(set.max(), domains, a) : everything();
    return as_set({low.min, high.max}, a);
  });
}

IntSet eval_set(const Range& range, const SetOfVar& domains, Analyzer* analyzer) {
  return eval_set(IntSet::from_range(range), domains, analyzer);
}

Array<IntSet> eval_set(const Array<Range>& region, const SetOfVar& domains, Analyzer* analyzer) {
  return with_analyzer(analyzer, [&](Analyzer* a) {
    Array<IntSet> out;
    for (const Range& range : region) out.push_back(eval_set(range, domains, a));
    return out;
  });
}

SetOfVar as_sets(const Map<Var, Range>& ranges) {
  SetOfVar out;
  for (const auto& [var, range] : ranges) out.set(var, IntSet::from_range(range));
  return out;
}

}  // namespace tessera::arith
