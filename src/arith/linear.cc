#include "arith/linear.h"

#include "arith/kind.h"
#include "base/stack.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

/// factor * var + rest; an empty factor means none.
struct Linear {
  PrimExpr factor, rest;
};

PrimExpr plus(const PrimExpr& a, const PrimExpr& b) {
  if (!a.defined()) return b;
  return b.defined() ? a + b : a;
}
PrimExpr minus(const PrimExpr& a, const PrimExpr& b) {
  if (!b.defined()) return a;
  return a.defined() ? a - b : make_zero(b.dtype()) - b;
}

std::optional<Linear> linear_in(const PrimExpr& e, const Var& var);

std::optional<Linear> linear_node(const PrimExpr& e, const Var& var) {
  if (e.same_as(var)) return Linear{make_const(e.dtype(), 1), make_zero(e.dtype())};
  if (!uses_var(e, var)) return Linear{nullptr, e};
  Kind kind = kind_of(e);
  if (kind != Kind::Add && kind != Kind::Sub && kind != Kind::Mul) return {};
  std::optional<Linear> a = linear_in(as_binary(e)->a, var), b = linear_in(as_binary(e)->b, var);
  if (!a || !b) return {};
  if (kind == Kind::Add) return Linear{plus(a->factor, b->factor), a->rest + b->rest};
  if (kind == Kind::Sub) return Linear{minus(a->factor, b->factor), a->rest - b->rest};
  if (a->factor.defined() && b->factor.defined()) return {};
  if (b->factor.defined()) std::swap(a, b);
  return Linear{a->factor * b->rest, a->rest * b->rest};
}

std::optional<Linear> linear_in(const PrimExpr& e, const Var& var) {
  return on_enough_stack([&] { return linear_node(e, var); });
}

/// `a <= b` of a comparison (with `equal` set for a == b); nothing for other conditions.
struct AtMost {
  PrimExpr a, b;
  bool equal = false;
};

std::optional<AtMost> as_at_most(PrimExpr condition) {
  while (is_call(condition, "tir.likely")) condition = static_cast<const Call*>(condition.get())->args[0];
  Kind kind = kind_of(condition);
  if (!is_comparison(kind) || kind == Kind::NE) return {};
  PrimExpr a = as_binary(condition)->a, b = as_binary(condition)->b;
  if (!is_index_type(a.dtype())) return {};
  PrimExpr one = make_const(a.dtype(), 1);
  switch (kind) {
    case Kind::LT: return AtMost{a, b - one};
    case Kind::LE: return AtMost{a, b};
    case Kind::GT: return AtMost{b + one, a};
    case Kind::GE: return AtMost{b, a};
    default: return AtMost{a, b, true};
  }
}

PrimExpr ceil_quotient(const PrimExpr& a, const PrimExpr& b) {
  return make_zero(a.dtype()) - floordiv(make_zero(a.dtype()) - a, b);
}

}  // namespace

Array<PrimExpr> detect_linear_equation(const PrimExpr& e, const Array<Var>& vars) {
  Array<PrimExpr> out;
  PrimExpr rest = e;
  Analyzer analyzer;
  auto names_any = [&](const PrimExpr& f) {
    return uses_var(f, [&](const VarNode* v) {
      for (const Var& var : vars)
        if (var.get() == v) return true;
      return false;
    });
  };
  for (const Var& var : vars) {
    std::optional<Linear> form = linear_in(rest, var);
    if (!form) return {};
    PrimExpr factor = form->factor.defined() ? analyzer.simplify(form->factor) : make_zero(var->dtype);
    if (names_any(factor)) return {};
    out.push_back(factor);
    rest = form->rest;
  }
  out.push_back(vars.empty() ? rest : analyzer.simplify(rest));
  return out;
}

Array<PrimExpr> detect_clip_bound(const PrimExpr& condition, const Array<Var>& vars) {
  std::vector<PrimExpr> ends(vars.size() * 2);
  Analyzer analyzer;
  std::vector<PrimExpr> pending{condition};
  while (!pending.empty()) {
    PrimExpr e = pending.back();
    pending.pop_back();
    if (kind_of(e) == Kind::And) {
      pending.push_back(as_binary(e)->b);
      pending.push_back(as_binary(e)->a);
      continue;
    }
    std::optional<AtMost> form = as_at_most(e);
    if (!form || form->equal) return {};
    PrimExpr apart = form->a - form->b;  // <= 0
    int which = -1;
    for (size_t i = 0; i < vars.size(); ++i) {
      if (!uses_var(apart, vars[i])) continue;
      if (which >= 0) return {};
      which = static_cast<int>(i);
    }
    if (which < 0) return {};
    std::optional<Linear> linear = linear_in(analyzer.simplify(apart), vars[which]);
    if (!linear || !linear->factor.defined()) return {};
    const int64_t* factor = as_int(linear->factor);
    if (!factor || *factor == 0) return {};
    PrimExpr zero = make_zero(apart.dtype());
    if (*factor > 0) {
      PrimExpr high = analyzer.simplify(floordiv(zero - linear->rest, linear->factor));
      PrimExpr& end = ends[which * 2 + 1];
      end = end.defined() ? analyzer.simplify(min(end, high)) : high;
    } else {
      PrimExpr low = analyzer.simplify(ceil_quotient(linear->rest, zero - linear->factor));
      PrimExpr& end = ends[which * 2];
      end = end.defined() ? analyzer.simplify(max(end, low)) : low;
    }
  }
  return Array<PrimExpr>(ends);
}

namespace {

/// Takes operators off the side that has the variable until it stands alone.
class Isolation {
 public:
  Isolation(PrimExpr var, Analyzer* analyzer) : var_(std::move(var)), analyzer_(analyzer) {}

  PrimExpr bound;         // var <= bound, or var >= bound
  bool is_upper = false;  // which of the two
  bool exact = false;     // var == bound

  /// e <= limit when `upper`, else e >= limit.
  bool solve(PrimExpr e, PrimExpr limit, bool upper, bool equal) {
    while (!e.same_as(var_)) {
      if (!is_arithmetic(kind_of(e))) return false;
      const PrimExpr a = as_binary(e)->a, b = as_binary(e)->b;
      bool in_a = names(a), in_b = names(b);
      if (in_a == in_b) return false;
      switch (kind_of(e)) {
        case Kind::Add: limit = limit - (in_a ? b : a); break;
        case Kind::Sub:
          limit = in_a ? limit + b : a - limit;
          if (in_b) upper = !upper;
          break;
        case Kind::Mul: {
          const PrimExpr& factor = in_a ? b : a;
          bool positive = analyzer_->can_prove_greater_equal(factor, 1);
          bool negative = !positive && analyzer_->can_prove_less(factor, 0);
          if (!positive && !negative) return false;
          if (equal) {
            if (!analyzer_->can_prove_equal(floormod(limit, factor), make_zero(limit.dtype()))) return false;
            limit = floordiv(limit, factor);
            break;
          }
          if (negative) upper = !upper;
          PrimExpr size = positive ? factor : make_zero(factor.dtype()) - factor;
          PrimExpr zero = make_zero(limit.dtype());
          if (negative) limit = upper ? floordiv(zero - limit, size) : zero - floordiv(limit, size);
          else limit = upper ? floordiv(limit, size) : ceil_quotient(limit, size);
          break;
        }
        case Kind::FloorDiv: {
          if (!in_a || equal || !analyzer_->can_prove_greater_equal(b, 1)) return false;
          PrimExpr one = make_const(limit.dtype(), 1);
          limit = upper ? (limit + one) * b - one : limit * b;
          break;
        }
        default: return false;
      }
      e = in_a ? a : b;
    }
    bound = limit;
    is_upper = upper;
    exact = equal;
    return true;
  }

 private:
  bool names(const PrimExpr& e) const {
    bool found = false;
    pre_order(e, [&](const Object* node) {
      found = found || node == var_.get() ||
              (node->is_a(PrimExprNode::info) && expr_equal(PrimExpr(static_cast<const PrimExprNode*>(node)), var_));
      return !found;
    });
    return found;
  }
  PrimExpr var_;
  Analyzer* analyzer_;
};

}  // namespace

IntSet deduce_bound(const PrimExpr& var, const PrimExpr& condition, const SetOfVar& hints, const SetOfVar& relaxed) {
  Analyzer analyzer;
  for (const SetOfVar& sets : {hints, relaxed})
    for (const auto& [v, set] : sets) {
      IntBound bound;
      if (set.has_lower_bound()) bound.min = analyzer.const_int_bound(set.min()).min;
      if (set.has_upper_bound()) bound.max = analyzer.const_int_bound(set.max()).max;
      analyzer.update(v, bound & IntBound::of(v->dtype), true);
    }
  std::optional<AtMost> form = as_at_most(condition);
  if (!form) return IntSet::nothing();
  Isolation alone(var, &analyzer);
  PrimExpr zero = make_zero(form->a.dtype());
  bool solved = alone.solve(form->a, form->b, true, form->equal) || alone.solve(form->b, form->a, false, form->equal);
  if (!solved) {
    PrimExpr apart = analyzer.simplify(form->a - form->b);  // gathers a variable that stands on both sides
    solved = alone.solve(apart, zero, true, form->equal);
  }
  if (!solved) return IntSet::nothing();
  IntSet end = IntSet::single_point(alone.bound);
  bool relax = uses_var(alone.bound, [&](const VarNode* v) { return relaxed.count(Var(v)); });
  if (relax) end = eval_set(alone.bound, relaxed, &analyzer);
  if (alone.exact) return end.is_single_point() ? end : IntSet::nothing();
  const PrimExpr& limit = alone.is_upper ? end.min() : end.max();
  if (is_pos_inf(limit) || is_neg_inf(limit)) return IntSet::nothing();
  return alone.is_upper ? IntSet::interval(neg_inf(), limit) : IntSet::interval(limit, pos_inf());
}

}  // namespace tessera::arith
