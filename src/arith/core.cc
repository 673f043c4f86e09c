#include "arith/core.h"

#include "arith/kind.h"

namespace tessera::arith {
namespace {

constexpr int kLearnDepth = 8;

int64_t less(int64_t v, int64_t by) { return is_inf(v) ? v : sat_sub(v, by); }

/// The x with x * c in `bound`.
IntBound unscale(IntBound bound, int64_t c) {
  auto down = [c](int64_t v) { return is_inf(v) ? (c > 0 ? v : sat_neg(v)) : floor_div(v, c); };
  auto up = [c](int64_t v) { return is_inf(v) ? (c > 0 ? v : sat_neg(v)) : -floor_div(-v, c); };
  return c > 0 ? IntBound{up(bound.min), down(bound.max)} : IntBound{up(bound.max), down(bound.min)};
}

}  // namespace

void Core::forget() {
  bounds.forget();
  modulars.forget();
  rewrite.forget();
  canonical.forget();
}

Core::Mark Core::enter(const PrimExpr& condition) {
  PrimExpr known = rewrite(condition);
  Mark mark{facts.bounds.size(),       facts.modulars.size(),       facts.literals.size(),      bindings,
            std::move(rewrite.memo()), std::move(canonical.memo()), std::move(canonical.sums())};
  rewrite.memo() = {};
  canonical.memo() = {};
  canonical.sums() = {};
  learn(known);
  bounds.forget();
  modulars.forget();
  return mark;
}

void Core::leave(Mark mark) {
  facts.bounds.resize(mark.bounds);
  facts.modulars.resize(mark.modulars);
  facts.literals.resize(mark.literals);
  forget();
  if (mark.bindings != bindings) return;
  rewrite.memo() = std::move(mark.rewritten);
  canonical.memo() = std::move(mark.canonical);
  canonical.sums() = std::move(mark.sums);
}

void Core::learn(const PrimExpr& condition) {
  Kind kind = kind_of(condition);
  if (kind == Kind::IntImm) return;
  if (kind == Kind::And) {
    learn(as_binary(condition)->a);
    learn(as_binary(condition)->b);
    return;
  }
  if (is_call(condition, "tir.likely")) return learn(static_cast<const Call*>(condition.get())->args[0]);
  facts.literals.push_back(condition);
  if (!is_comparison(kind)) return;
  PrimExpr a = as_binary(condition)->a, b = as_binary(condition)->b;
  if (!is_index_type(a.dtype())) return;
  if (kind == Kind::GT || kind == Kind::GE) std::swap(a, b);
  bool strict = kind == Kind::LT || kind == Kind::GT;
  IntBound of_a = bounds(a), of_b = bounds(b);
  if (kind == Kind::EQ) {
    learn_bound(a, of_b, kLearnDepth);
    learn_bound(b, of_a, kLearnDepth);
    Modular mod_a = modulars(a), mod_b = modulars(b);
    if (mod_a.coeff == 0) std::swap(a, b), std::swap(mod_a, mod_b);
    if (kind_of(a) != Kind::IntImm && mod_b != Modular{}) facts.modulars.emplace_back(a, mod_b);
    bool floors = kind_of(a) == Kind::FloorMod;
    if ((floors || kind_of(a) == Kind::Mod) && mod_b.coeff == 0) {
      Modular divisor = modulars(as_binary(a)->b);
      int64_t d = divisor.base, rest = mod_b.base;
      if (divisor.coeff == 0 && d > 0 && rest < d && (floors ? rest >= 0 : rest > -d))
        facts.modulars.emplace_back(as_binary(a)->a, Modular{d, floor_mod(rest, d)});
    }
  } else if (kind != Kind::NE) {
    learn_bound(a, {kNegInf, less(of_b.max, strict)}, kLearnDepth);
    learn_bound(b, {is_inf(of_a.min) ? of_a.min : sat_add(of_a.min, strict), kPosInf}, kLearnDepth);
  } else {
    if (of_b.is_single() && of_b.min == of_a.min) learn_bound(a, {sat_add(of_a.min, 1), kPosInf}, kLearnDepth);
    if (of_b.is_single() && of_b.min == of_a.max) learn_bound(a, {kNegInf, sat_add(of_a.max, -1)}, kLearnDepth);
  }
}

// An expression is recorded as it stands, and each variable in it by what is left for it when the others are at their
// extremes.
void Core::learn_bound(const PrimExpr& e, IntBound bound, int depth) {
  Kind kind = kind_of(e);
  if (kind == Kind::IntImm || bound == IntBound{} || depth == 0) return;
  if (depth == kLearnDepth || kind == Kind::Var) facts.bounds.emplace_back(e, bound);
  if (!is_arithmetic(kind)) return;
  const PrimExpr &a = as_binary(e)->a, &b = as_binary(e)->b;
  const int64_t* c = as_int(b);
  switch (kind) {
    case Kind::Add: {
      IntBound of_a = bounds(a), of_b = bounds(b);
      learn_bound(a, {sat_sub(bound.min, of_b.max), sat_sub(bound.max, of_b.min)}, depth - 1);
      learn_bound(b, {sat_sub(bound.min, of_a.max), sat_sub(bound.max, of_a.min)}, depth - 1);
      return;
    }
    case Kind::Sub: {
      IntBound of_a = bounds(a), of_b = bounds(b);
      learn_bound(a, {sat_add(bound.min, of_b.min), sat_add(bound.max, of_b.max)}, depth - 1);
      learn_bound(b, {sat_sub(of_a.min, bound.max), sat_sub(of_a.max, bound.min)}, depth - 1);
      return;
    }
    case Kind::Mul:
      if (c && *c != 0 && *c != INT64_MIN) learn_bound(a, unscale(bound, *c), depth - 1);
      return;
    case Kind::FloorDiv:
      if (c && *c > 0)
        learn_bound(a,
                    {sat_mul(bound.min, *c), is_inf(bound.max) ? bound.max : sat_add(sat_mul(bound.max, *c), *c - 1)},
                    depth - 1);
      return;
    case Kind::Min:  // min(a, b) >= m
      learn_bound(a, {bound.min, kPosInf}, depth - 1);
      learn_bound(b, {bound.min, kPosInf}, depth - 1);
      return;
    case Kind::Max:
      learn_bound(a, {kNegInf, bound.max}, depth - 1);
      learn_bound(b, {kNegInf, bound.max}, depth - 1);
      return;
    default: return;
  }
}

}  // namespace tessera::arith
