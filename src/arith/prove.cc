#include "arith/prove.h"

#include "arith/core.h"
#include "arith/kind.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

constexpr int kRounds = 6;  // how many ends are put in for variables, one after another

MaybeInt truth_of(const PrimExpr& e) {
  if (kind_of(e) != Kind::IntImm) return {};
  return static_cast<const IntImm*>(e.get())->value;
}

bool known_nonnegative(Core& core, const PrimExpr& e) {
  if (core.bounds(e).min >= 0) return true;
  // e >= 0 follows from a known a < b or a <= b when e - (b - a) + strict >= 0
  for (const PrimExpr& known : core.facts.literals) {
    Kind kind = kind_of(known);
    if (kind != Kind::LT && kind != Kind::LE) continue;
    const BinaryNode* node = as_binary(known);
    if (node->a.dtype() != e.dtype()) continue;
    PrimExpr slack = core.canonical(make_node(Kind::Sub, e, make_node(Kind::Sub, node->b, node->a)));
    IntBound bound = core.bounds(slack);
    if (bound.min >= (kind == Kind::LT ? -1 : 0)) return true;
  }
  return false;
}

/// floordiv(a, c) * (k c) as k (a - floormod(a, c)), where that lets terms of a meet others.
PrimExpr open_quotients(Core& core, const PrimExpr& e) {
  PrimExpr out = rewrite(e, [](Rewriter& self, const Mul* node) -> PrimExpr {
    const auto* quotient = node->a.as<FloorDiv>();
    const int64_t* scale = as_int(node->b);
    const int64_t* divisor = quotient ? as_int(quotient->b) : nullptr;
    if (!scale || !divisor || *divisor <= 1 || *scale % *divisor != 0) return self.children(node);
    PrimExpr a = self(quotient->a);
    PrimExpr rounded = make_node(Kind::Sub, a, make_node(Kind::FloorMod, a, quotient->b));
    return make_node(Kind::Mul, rounded, make_const(node->dtype, *scale / *divisor));
  });
  return out.same_as(e) ? out : core.canonical(out);
}

/// The sign of the factor of `var` in the linear expression `e`: +1, -1, or 0 when it is none or not known.
int direction(const PrimExpr& e, const VarNode* var) {
  switch (kind_of(e)) {
    case Kind::Var: return e.get() == var ? 1 : 0;
    case Kind::Add:
    case Kind::Sub:
    case Kind::Min:
    case Kind::Max: {
      bool in_a = uses_var(as_binary(e)->a, Var(var)), in_b = uses_var(as_binary(e)->b, Var(var));
      int a = in_a ? direction(as_binary(e)->a, var) : 0, b = in_b ? direction(as_binary(e)->b, var) : 0;
      if (kind_of(e) == Kind::Sub) b = -b;
      if (in_a && in_b) return a == b ? a : 0;
      return in_a ? a : b;
    }
    case Kind::Mul:
    case Kind::FloorDiv: {
      const int64_t* c = as_int(as_binary(e)->b);
      if (!c || *c == 0) return 0;
      int a = direction(as_binary(e)->a, var);
      return *c > 0 ? a : -a;
    }
    default: return 0;
  }
}

/// A variable of `e` whose range has a symbolic end, and the value of it that makes `e` least.
PrimExpr put_worst_end(Core& core, const PrimExpr& e) {
  PrimExpr out;
  walk(e, [&](const VarNode* var) {
    if (out.defined()) return;
    const Facts::OfVar* fact = core.facts.find(var);
    if (!fact || !fact->range.defined()) return;
    int sign = direction(e, var);
    if (sign == 0) return;
    const Range& range = fact->range;
    bool symbolic = sign > 0 ? !as_int(range->min) : !(as_int(range->min) && as_int(range->extent));
    if (!symbolic || uses_var(range->min, Var(var)) || uses_var(range->extent, Var(var))) return;
    PrimExpr end = range->min;
    if (end.dtype() != var->dtype || range->extent.dtype() != var->dtype) return;
    if (sign < 0)
      end = make_node(Kind::Sub, make_node(Kind::Add, range->min, range->extent), make_const(var->dtype, 1));
    out = substitute(e, Map<Var, PrimExpr>{{Var(var), end}});
  });
  return out.defined() ? core.canonical(core.rewrite(out)) : out;
}

/// e >= 0 for an integer expression.
bool nonnegative(Core& core, PrimExpr e) {
  for (int round = 0; round < kRounds; ++round) {
    if (known_nonnegative(core, e)) return true;
    PrimExpr opened = open_quotients(core, e);
    if (!opened.same_as(e) && known_nonnegative(core, opened)) return true;
    PrimExpr next = put_worst_end(core, e);
    if (!next.defined() && !opened.same_as(e)) next = put_worst_end(core, opened);
    if (!next.defined() || expr_equal(next, e)) return false;
    e = next;
  }
  return false;
}

PrimExpr difference(const PrimExpr& a, const PrimExpr& b) { return make_node(Kind::Sub, a, b); }

bool prove_comparison(Core& core, Kind kind, const PrimExpr& a, const PrimExpr& b) {
  if (!is_index_type(a.dtype()) || a.dtype() != b.dtype()) return false;
  auto shown = [&](const PrimExpr& e) { return nonnegative(core, core.canonical(core.rewrite(e))); };
  PrimExpr one = make_const(a.dtype(), 1);
  switch (kind) {
    case Kind::LE: return shown(difference(b, a));
    case Kind::LT: return shown(difference(difference(b, a), one));
    case Kind::GE: return prove_comparison(core, Kind::LE, b, a);
    case Kind::GT: return prove_comparison(core, Kind::LT, b, a);
    case Kind::EQ: return shown(difference(b, a)) && shown(difference(a, b));
    case Kind::NE: return prove_comparison(core, Kind::LT, a, b) || prove_comparison(core, Kind::LT, b, a);
    default: return false;
  }
}

}  // namespace

bool prove(Core& core, const PrimExpr& condition) {
  PrimExpr e = core.rewrite(condition);
  if (MaybeInt truth = truth_of(e)) return *truth;
  e = core.canonical(e);
  if (MaybeInt truth = truth_of(e)) return *truth;
  Kind kind = kind_of(e);
  if (kind == Kind::And) return prove(core, as_binary(e)->a) && prove(core, as_binary(e)->b);
  if (kind == Kind::Or) return prove(core, as_binary(e)->a) || prove(core, as_binary(e)->b);
  if (is_call(e, "tir.likely")) return prove(core, static_cast<const Call*>(e.get())->args[0]);
  if (!is_comparison(kind)) return false;
  if (prove_comparison(core, kind, as_binary(e)->a, as_binary(e)->b)) return true;
  Kind asked = kind_of(condition);
  return is_comparison(asked) && prove_comparison(core, asked, as_binary(condition)->a, as_binary(condition)->b);
}

}  // namespace tessera::arith
