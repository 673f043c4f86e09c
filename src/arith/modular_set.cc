#include "arith/modular_set.h"

#include "arith/kind.h"
#include "base/stack.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

Modular normal(MaybeInt coeff, MaybeInt base) {
  if (!coeff || !base || *coeff == INT64_MIN) return {};
  int64_t c = *coeff < 0 ? -*coeff : *coeff;
  return {c, c == 0 ? *base : floor_mod(*base, c)};
}

Modular either(Modular a, Modular b) {
  MaybeInt apart = checked_sub(a.base, b.base);
  if (!apart) return {};
  return normal(gcd(gcd(a.coeff, b.coeff), *apart), a.base);
}

Modular add(Modular a, Modular b) { return normal(gcd(a.coeff, b.coeff), checked_add(a.base, b.base)); }
Modular sub(Modular a, Modular b) { return normal(gcd(a.coeff, b.coeff), checked_sub(a.base, b.base)); }

// (p k + a)(q m + b) = pq km + pb k + aq m + ab
Modular mul(Modular a, Modular b) {
  MaybeInt pq = checked_mul(a.coeff, b.coeff), pb = checked_mul(a.coeff, b.base), aq = checked_mul(a.base, b.coeff);
  if (!pq || !pb || !aq) return {};
  return normal(gcd(gcd(*pq, *pb), *aq), checked_mul(a.base, b.base));
}

/// a divided by the constant d, rounding down; rounding to zero agrees where a is never negative.
Modular divide(Modular a, int64_t d, bool agrees) {
  if (d == 0 || d == INT64_MIN || d == -1 || a.coeff % d != 0) return {};
  if (a.base % d == 0) return normal(a.coeff / d, a.base / d);
  return agrees ? normal(a.coeff / d, floor_div(a.base, d)) : Modular{};
}

/// a modulo the constant d: only what the coefficient shares with d is known.
Modular remainder(Modular a, int64_t d, bool agrees) {
  if (d == 0 || d == INT64_MIN || d == -1) return {};
  int64_t shared = gcd(a.coeff, d);
  if (a.coeff == 0) return normal(0, agrees ? floor_mod(a.base, d) : a.base % d);
  if (shared == 0) return {};
  if (agrees || a.base % shared == 0) return normal(shared, a.base);
  return {};
}

}  // namespace

Modular intersect(Modular a, Modular b) {
  if (a.coeff == 0) return a;
  if (b.coeff == 0) return b;
  // x = a.coeff k + a.base = b.coeff m + b.base, by the Chinese remainder theorem.
  int64_t k, m;
  int64_t g = extended_gcd(a.coeff, b.coeff, &k, &m);
  MaybeInt apart = checked_sub(b.base, a.base);
  if (!apart || *apart % g != 0) return a;
  MaybeInt whole = checked_mul(a.coeff / g, b.coeff);
  int64_t period = b.coeff / g;
  MaybeInt steps = checked_mul(floor_mod(*apart / g, period), floor_mod(k, period));
  if (!whole || !steps) return a;
  MaybeInt offset = checked_mul(a.coeff, floor_mod(*steps, period));
  if (!offset) return a;
  MaybeInt base = checked_add(*offset, a.base);
  return base ? normal(whole, base) : a;
}

Modular ModularAnalyzer::visit(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (kind == Kind::IntImm) return {0, static_cast<const IntImm*>(e.get())->value};
  if (!e.dtype().is_integral() || kind == Kind::Other) return {};
  bool cached = kind != Kind::Var;
  if (cached)
    if (const Modular* found = memo_.find(e)) return *found;
  Modular out = on_enough_stack([&] { return of_node(e); });
  for (const auto& [known, modular] : facts_->modulars)
    if (expr_equal(known, e)) out = intersect(out, modular);
  if (cached) memo_.insert(e, out);
  return out;
}

Modular ModularAnalyzer::of_node(const PrimExpr& e) {
  Kind kind = kind_of(e);
  switch (kind) {
    case Kind::Var: {
      const Facts::OfVar* fact = facts_->find(static_cast<const VarNode*>(e.get()));
      return fact ? fact->modular : Modular{};
    }
    case Kind::Add: return add(visit(as_binary(e)->a), visit(as_binary(e)->b));
    case Kind::Sub: return sub(visit(as_binary(e)->a), visit(as_binary(e)->b));
    case Kind::Mul: return mul(visit(as_binary(e)->a), visit(as_binary(e)->b));
    case Kind::Min:
    case Kind::Max: return either(visit(as_binary(e)->a), visit(as_binary(e)->b));
    case Kind::Select:
      return either(visit(static_cast<const Select*>(e.get())->true_value),
                    visit(static_cast<const Select*>(e.get())->false_value));
    case Kind::Div:
    case Kind::FloorDiv:
    case Kind::Mod:
    case Kind::FloorMod: {
      Modular d = visit(as_binary(e)->b);
      if (d.coeff != 0) return {};
      bool floors = kind == Kind::FloorDiv || kind == Kind::FloorMod;
      bool agrees = floors || ((*bounds_)(as_binary(e)->a).min >= 0 && d.base > 0);
      Modular a = visit(as_binary(e)->a);
      bool quotient = kind == Kind::Div || kind == Kind::FloorDiv;
      return quotient ? divide(a, d.base, agrees) : remainder(a, d.base, agrees);
    }
    case Kind::Cast: {
      const PrimExpr& value = static_cast<const Cast*>(e.get())->value;
      IntBound all = IntBound::of(e.dtype());
      bool kept = value.dtype().is_integral() && (*bounds_)(value).within(all.min, all.max);
      return kept ? visit(value) : Modular{};
    }
    case Kind::Call: {
      const auto* call = static_cast<const Call*>(e.get());
      if (is_call(call, "tir.if_then_else")) return either(visit(call->args[1]), visit(call->args[2]));
      if (is_call(call, "tir.bitwise_and")) {  // x & (2^p - 1) is x mod 2^p
        Modular mask = visit(call->args[1]);
        bool is_low = mask.coeff == 0 && mask.base > 0 && mask.base < INT64_MAX && (mask.base & (mask.base + 1)) == 0;
        return is_low ? remainder(visit(call->args[0]), mask.base + 1, true) : Modular{};
      }
      bool left = is_call(call, "tir.shift_left"), right = is_call(call, "tir.shift_right");
      if (!left && !right) return {};
      Modular by = visit(call->args[1]);
      if (by.coeff != 0 || by.base < 0 || by.base > 30) return {};
      // A left shift may lose high bits, which keeps the low ones but not odd factors.
      if (left) return {int64_t{1} << by.base, 0};
      return divide(visit(call->args[0]), int64_t{1} << by.base, true);
    }
    default: return {};
  }
}

}  // namespace tessera::arith
