#include "arith/merge_quotients.h"

#include <vector>

#include "arith/kind.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

constexpr size_t kMaxTerms = 32;

struct Term {
  std::vector<PrimExpr> factors;
  bool negative = false;
};

bool is_remainder(const PrimExpr& e) { return kind_of(e) == Kind::FloorMod || kind_of(e) == Kind::Mod; }

/// The sum that `e` is when products of sums are multiplied out. False where it has too many terms.
bool expand(const PrimExpr& e, std::vector<Term>* out) {
  Kind kind = kind_of(e);
  std::vector<Term> a, b;
  if (kind != Kind::Add && kind != Kind::Sub && kind != Kind::Mul) {
    out->push_back({{e}});
    return true;
  }
  if (!expand(as_binary(e)->a, &a) || !expand(as_binary(e)->b, &b)) return false;
  if (kind == Kind::Mul) {
    if (a.size() * b.size() > kMaxTerms) return false;
    for (const Term& x : a)
      for (const Term& y : b) {
        Term both = x;
        both.factors.insert(both.factors.end(), y.factors.begin(), y.factors.end());
        both.negative = x.negative != y.negative;
        out->push_back(std::move(both));
      }
    return true;
  }
  out->insert(out->end(), a.begin(), a.end());
  for (Term& term : b) {
    term.negative = term.negative != (kind == Kind::Sub);
    out->push_back(std::move(term));
  }
  return out->size() <= kMaxTerms;
}

/// Takes one factor equal to `e` out of `factors`.
bool take(std::vector<PrimExpr>* factors, const PrimExpr& e) {
  for (size_t i = 0; i < factors->size(); ++i)
    if (expr_equal((*factors)[i], e)) {
      factors->erase(factors->begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  return false;
}

/// What is left of `high` = x // y * y * rest when `low` = x % y * rest; the dividend x is put into `dividend`.
bool meet(const Term& high, const Term& low, PrimExpr* dividend, std::vector<PrimExpr>* rest) {
  if (high.negative != low.negative) return false;
  for (const PrimExpr& remainder : low.factors) {
    if (!is_remainder(remainder)) continue;
    PrimExpr x = as_binary(remainder)->a, y = as_binary(remainder)->b;
    Kind divides = kind_of(remainder) == Kind::FloorMod ? Kind::FloorDiv : Kind::Div;
    std::vector<PrimExpr> left = high.factors, others = low.factors;
    take(&others, remainder);
    if (!take(&left, bare_node(divides, x, y)) || !take(&left, y) || left.size() != others.size()) continue;
    bool same = true;
    *rest = others;
    for (const PrimExpr& factor : others) same = same && take(&left, factor);
    if (!same) continue;
    *dividend = x;
    return true;
  }
  return false;
}

bool merge_one(std::vector<Term>* terms) {
  for (size_t i = 0; i < terms->size(); ++i)
    for (size_t j = 0; j < terms->size(); ++j) {
      PrimExpr dividend;
      std::vector<PrimExpr> rest;
      if (i == j || !meet((*terms)[i], (*terms)[j], &dividend, &rest)) continue;
      std::vector<Term> merged, whole;
      if (!expand(dividend, &whole)) return false;
      for (size_t k = 0; k < terms->size(); ++k)
        if (k != i && k != j) merged.push_back((*terms)[k]);
      for (Term& part : whole) {
        part.factors.insert(part.factors.end(), rest.begin(), rest.end());
        part.negative = part.negative != (*terms)[i].negative;
        merged.push_back(std::move(part));
      }
      *terms = std::move(merged);
      return true;
    }
  return false;
}

}  // namespace

PrimExpr merge_quotients(const PrimExpr& e) {
  // Divisors that are numbers are the simplifier's.
  bool divides = false;
  pre_order(e, [&](const Object* node) {
    auto* part = cast_or_null<PrimExprNode>(node);
    divides = divides || (part && is_remainder(PrimExpr(part)) && !as_int(as_binary(PrimExpr(part))->b));
    return !divides;
  });
  std::vector<Term> terms;
  if (!divides || !is_index_type(e.dtype()) || !expand(e, &terms)) return e;
  bool found = false;
  while (terms.size() <= kMaxTerms && merge_one(&terms)) found = true;
  if (!found) return e;
  PrimExpr out;
  for (const Term& term : terms) {
    PrimExpr value = term.factors[0];
    for (size_t i = 1; i < term.factors.size(); ++i) value = make_node(Kind::Mul, value, term.factors[i]);
    if (!out.defined()) out = term.negative ? make_node(Kind::Sub, make_zero(e.dtype()), value) : value;
    else out = make_node(term.negative ? Kind::Sub : Kind::Add, out, value);
  }
  return out;
}

}  // namespace tessera::arith
