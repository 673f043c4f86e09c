#include "arith/int_set.h"
#include "arith/interval.h"
#include "arith/kind.h"
#include "base/stack.h"
#include "ir/rewrite.h"

namespace tessera::arith {
namespace {

class Evaluator {
 public:
  Evaluator(const SetOfVar& domains, Analyzer* analyzer) : domains_(domains), analyzer_(analyzer) {}

  Interval operator()(const PrimExpr& e) {
    if (repeats_a_range(e)) return visit(analyzer_->simplify(e));
    return visit(e);
  }
  IntSet finish(const Interval& i) { return as_set(i, analyzer_); }

 private:
  /// A variable that ranges and stands twice: its occurrences may cancel.
  bool repeats_a_range(const PrimExpr& e) {
    std::unordered_map<const Object*, int> uses;
    bool repeats = false;
    auto count = [&](const Object* node) {
      const auto* var = cast_or_null<VarNode>(node);
      if (!var) return;
      IntSet set = domains_.get_or_null(Var(var));
      if (set.defined() && !set.is_single_point() && ++uses[var] > 1) repeats = true;
    };
    each_occurrence(e, count, 0);
    return repeats;
  }
  template <class F>
  static void each_occurrence(const PrimExpr& e, F& f, int depth) {
    Kind kind = kind_of(e);
    if (depth > 64) return;
    if (is_binary(kind)) {
      each_occurrence(as_binary(e)->a, f, depth + 1);
      each_occurrence(as_binary(e)->b, f, depth + 1);
    } else {
      f(e.get());
    }
  }

  bool uses_domain(const PrimExpr& e) {
    return uses_var(e, [&](const VarNode* var) { return domains_.count(Var(var)); });
  }

  Interval visit(const PrimExpr& e) {
    return on_enough_stack([&] { return visit_node(e); });
  }

  Interval visit_node(const PrimExpr& e) {
    Kind kind = kind_of(e);
    if (kind == Kind::IntImm) return point(e);
    if (kind == Kind::Var) return of_var(e);
    if (is_arithmetic(kind) && e.dtype().is_integral())
      return binary(kind, visit(as_binary(e)->a), visit(as_binary(e)->b), e);
    switch (kind) {
      case Kind::Select: {
        const auto* node = static_cast<const Select*>(e.get());
        if (!uses_domain(e)) return point(e);
        return hull(visit(node->false_value), visit(node->true_value));
      }
      case Kind::Ramp: {
        const auto* node = static_cast<const Ramp*>(e.get());
        const int64_t* stride = as_int(node->stride);
        if (!stride) return everything();
        Interval base = visit(node->base);
        PrimExpr reach = node->stride * (node->lanes - 1);
        Interval lanes =
            *stride >= 0 ? Interval{make_zero(reach.dtype()), reach} : Interval{reach, make_zero(reach.dtype())};
        return binary(Kind::Add, base, lanes, nullptr);
      }
      case Kind::Broadcast: return visit(static_cast<const Broadcast*>(e.get())->value);
      case Kind::Cast: {
        const PrimExpr& value = static_cast<const Cast*>(e.get())->value;
        if (!uses_domain(e)) return point(e);
        if (!e.dtype().is_integral() || !value.dtype().is_integral()) return everything();
        Interval inner = visit(value);
        auto convert = [&](const PrimExpr& end) { return is_end(end) ? cast(e.dtype(), end) : end; };
        return {convert(inner.min), convert(inner.max)};
      }
      case Kind::Call:
        if (is_call(e, "tir.if_then_else") && uses_domain(e)) {
          const auto& args = static_cast<const Call*>(e.get())->args;
          return hull(visit(args[2]), visit(args[1]));
        }
        [[fallthrough]];
      default: return uses_domain(e) ? everything() : point(e);
    }
  }

  Interval of_var(const PrimExpr& e) {
    IntSet set = domains_.get_or_null(Var(static_cast<const VarNode*>(e.get())));
    if (!set.defined()) return point(e);
    if (set.is_single_point()) {
      if (set.min().same_as(e) || depth_ > 8 || !uses_domain(set.min())) return point(set.min());
      return nested([&] { return visit(set.min()); });
    }
    Interval out{set.min(), set.max()};
    // The ends may name variables that range themselves.
    bool low = is_end(out.min) && uses_domain(out.min), high = is_end(out.max) && uses_domain(out.max);
    if (depth_ > 8 || (!low && !high)) return out;
    return nested([&] {
      if (low) out.min = visit(out.min).min;
      if (high) out.max = visit(out.max).max;
      return out;
    });
  }
  template <class F>
  Interval nested(F f) {
    ++depth_;
    Interval out = f();
    --depth_;
    return out;
  }

  bool at_least(const PrimExpr& e, int64_t low) { return is_end(e) && analyzer_->can_prove_greater_equal(e, low); }
  bool at_most(const PrimExpr& e, int64_t high) { return is_end(e) && analyzer_->can_prove_less(e, high + 1); }

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
      case Kind::Mul: return a.is_point() ? scale(b, a) : scale(a, b);
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

  Interval scale(const Interval& a, const Interval& b) {
    if (b.is_point()) {
      if (is_zero(b.min)) return b;
      auto times = [&](const PrimExpr& end) { return is_end(end) ? end * b.min : end; };
      auto flipped = [&](const PrimExpr& end) {
        return is_end(end) ? end * b.min : is_pos_inf(end) ? neg_inf() : pos_inf();
      };
      if (at_least(b.min, 0)) return {times(a.min), times(a.max)};
      if (at_most(b.min, 0)) return {flipped(a.max), flipped(a.min)};
      if (!a.is_bounded()) return everything();
      PrimExpr p = a.min * b.min, q = a.max * b.min;
      return {min(p, q), max(p, q)};
    }
    if (!a.is_bounded() || !b.is_bounded()) return everything();
    if (at_least(a.min, 0) && at_least(b.min, 0)) return {a.min * b.min, a.max * b.max};
    const int64_t *al = as_int(a.min), *ah = as_int(a.max), *bl = as_int(b.min), *bh = as_int(b.max);
    if (!al || !ah || !bl || !bh) return everything();
    PrimExpr low = lesser(lesser(a.min * b.min, a.min * b.max), lesser(a.max * b.min, a.max * b.max));
    PrimExpr high = greater(greater(a.min * b.min, a.min * b.max), greater(a.max * b.min, a.max * b.max));
    return {low, high};
  }

  Interval divide(Kind kind, const Interval& a, const Interval& b) {
    auto by = [&](const PrimExpr& end, const PrimExpr& d) { return is_end(end) ? combine(kind, end, d) : end; };
    if (b.is_point()) {
      if (is_zero(b.min)) throw Error(ValueError) << "division by zero in the domain of an index";
      if (at_least(b.min, 0)) return {by(a.min, b.min), by(a.max, b.min)};
      if (at_most(b.min, 0) && a.is_bounded()) return {by(a.max, b.min), by(a.min, b.min)};
      return everything();
    }
    if (!b.is_bounded() || !a.is_bounded() || !at_least(b.min, 1)) return everything();
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
    const int64_t* c = as_int(d);
    PrimExpr zero = make_zero(d.dtype());
    if (!at_least(d, 0)) {
      if (c && kind == Kind::FloorMod) return {d + 1, zero};
      return everything();
    }
    PrimExpr top = d - 1;
    bool agrees = kind == Kind::FloorMod || at_least(a.min, 0);
    if (agrees && a.is_bounded()) {
      // The whole set within one period keeps its shape.
      PrimExpr low = floordiv(a.min, d), high = floordiv(a.max, d);
      if (analyzer_->can_prove_equal(low, high)) return {a.min - low * d, a.max - low * d};
    }
    if (agrees) return {zero, top};
    return {at_most(a.max, 0) || !at_least(a.min, 0) ? zero - top : zero, at_most(a.max, 0) ? zero : top};
  }

  const SetOfVar& domains_;
  Analyzer* analyzer_;
  int depth_ = 0;
};

}  // namespace

IntSet eval_set(const PrimExpr& e, const SetOfVar& domains, Analyzer* analyzer) {
  return with_analyzer(analyzer, [&](Analyzer* a) {
    Evaluator eval(domains, a);
    return eval.finish(eval(e));
  });
}

IntSet eval_set(const IntSet& set, const SetOfVar& domains, Analyzer* analyzer) {
  if (set.is_nothing()) return set;
  return with_analyzer(analyzer, [&](Analyzer* a) {
    Evaluator eval(domains, a);
    Interval low = set.has_lower_bound() ? eval(set.min()) : everything();
    if (set.is_single_point()) return eval.finish(low);
    Interval high = set.has_upper_bound() ? eval(set.max()) : everything();
    return eval.finish({low.min, high.max});
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
