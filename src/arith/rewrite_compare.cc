// Comparisons and known conditions, for the simplifier of rewrite_simplify.h.

#include "arith/core.h"
#include "arith/rewrite_simplify.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

constexpr int kMaxCompareDepth = 3;  // of comparisons inside comparisons

}  // namespace

PrimExpr rebuild(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original) {
  if (original.defined() && kind_of(original) == kind && as_binary(original)->a.same_as(a) &&
      as_binary(original)->b.same_as(b))
    return original;
  return bare_node(kind, a, b);
}

bool RewriteSimplifier::proves(const PrimExpr& condition) {
  Kind kind = kind_of(condition);
  if (kind == Kind::IntImm) return static_cast<const IntImm*>(condition.get())->value != 0;
  if (!is_comparison(kind)) return false;
  Order order = compare(as_binary(condition)->a, as_binary(condition)->b);
  switch (kind) {
    case Kind::LT: return order == Order::Less;
    case Kind::LE: return order == Order::Less || order == Order::LessEqual || order == Order::Equal;
    case Kind::EQ: return order == Order::Equal;
    case Kind::NE: return order == Order::NotEqual || order == Order::Less || order == Order::Greater;
    default: return false;
  }
}

RewriteSimplifier::Order RewriteSimplifier::compare(const PrimExpr& a, const PrimExpr& b) {
  auto by_bounds = [](IntBound x, IntBound y) {
    if (x.is_single() && x == y) return Order::Equal;
    if (x.max < y.min) return Order::Less;
    if (x.min > y.max) return Order::Greater;
    if (x.max <= y.min && !is_inf(x.max)) return Order::LessEqual;
    if (x.min >= y.max && !is_inf(x.min)) return Order::GreaterEqual;
    return Order::Unknown;
  };
  if (expr_equal(a, b)) return Order::Equal;
  Order order = by_bounds(bound_of(a), bound_of(b));
  if (order == Order::Less || order == Order::Greater || order == Order::Equal) return order;
  if (compare_depth_ >= kMaxCompareDepth || kind_of(a) == Kind::IntImm || kind_of(b) == Kind::IntImm) {
    if (order != Order::Unknown) return order;
  } else {
    Deeper deeper(&compare_depth_);
    PrimExpr apart = visit(make_node(Kind::Sub, a, b));
    Order finer = by_bounds(bound_of(apart), IntBound::single(0));
    if (finer != Order::Unknown) return finer;
    if (order != Order::Unknown) return order;
    Modular m = modular_of(apart);
    if (m.coeff != 0 ? m.base % m.coeff != 0 : m.base != 0) return Order::NotEqual;
    return Order::Unknown;
  }
  Modular ma = modular_of(a), mb = modular_of(b);
  int64_t shared = gcd(ma.coeff, mb.coeff);
  MaybeInt apart = checked_sub(ma.base, mb.base);
  return shared > 1 && apart && *apart % shared != 0 ? Order::NotEqual : Order::Unknown;
}

PrimExpr RewriteSimplifier::comparison(Kind kind, const PrimExpr& a, const PrimExpr& b, const PrimExpr& original) {
  if (kind == Kind::GT) return comparison(Kind::LT, b, a, original);
  if (kind == Kind::GE) return comparison(Kind::LE, b, a, original);
  Order order = compare(a, b);
  bool less = order == Order::Less, less_equal = less || order == Order::Equal || order == Order::LessEqual;
  bool greater = order == Order::Greater,
       greater_equal = greater || order == Order::Equal || order == Order::GreaterEqual;
  bool apart = less || greater || order == Order::NotEqual;
  switch (kind) {
    case Kind::LT:
      if (less || greater_equal) return bool_imm(less);
      break;
    case Kind::LE:
      if (less_equal || greater) return bool_imm(less_equal);
      break;
    default:
      if (apart || order == Order::Equal) return bool_imm(apart == (kind == Kind::NE));
      break;
  }
  if (kind == Kind::LE) return negated_comparison(Kind::LT, b, a, original);
  if (kind == Kind::NE) return negated_comparison(Kind::EQ, a, b, original);
  PrimExpr node = rebuild(kind, a, b, original);
  PrimExpr out = scalar_rules().apply(node, *this);
  return out.defined() ? again(out) : node;
}

/// The negation of `a <kind> b`, where kind is LT (giving b <= a) or EQ (giving a != b).
PrimExpr RewriteSimplifier::negated_comparison(Kind kind, const PrimExpr& a, const PrimExpr& b,
                                               const PrimExpr& original) {
  PrimExpr positive = bare_node(kind, a, b);
  PrimExpr out = scalar_rules().apply(positive, *this);
  if (out.defined()) return again(not_node(again(out)));
  return kind == Kind::LT ? rebuild(Kind::LE, b, a, original) : rebuild(Kind::NE, a, b, original);
}

PrimExpr RewriteSimplifier::negation(const PrimExpr& e) {
  switch (kind_of(e)) {
    case Kind::LT: return bare_node(Kind::LE, as_binary(e)->b, as_binary(e)->a);
    case Kind::LE: return bare_node(Kind::LT, as_binary(e)->b, as_binary(e)->a);
    case Kind::EQ: return bare_node(Kind::NE, as_binary(e)->a, as_binary(e)->b);
    case Kind::NE: return bare_node(Kind::EQ, as_binary(e)->a, as_binary(e)->b);
    case Kind::Not: return static_cast<const Not*>(e.get())->a;
    default: return not_node(e);
  }
}

PrimExpr RewriteSimplifier::by_known_conditions(const PrimExpr& e) {
  if (core_->facts.literals.empty() || is_truth(e) || e.dtype().lanes != 1) return e;
  PrimExpr opposite = negation(e);
  for (const PrimExpr& known : core_->facts.literals) {
    if (expr_equal(known, e)) return bool_imm(true);
    if (expr_equal(known, opposite)) return bool_imm(false);
  }
  return e;
}

}  // namespace tessera::arith
