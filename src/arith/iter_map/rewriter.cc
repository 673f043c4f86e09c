#include "arith/iter_map/rewriter.h"

#include <algorithm>

#include "arith/int_math.h"
#include "arith/kind.h"
#include "base/stack.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {

bool same_digit(const IterSplitExpr& a, const IterSplitExpr& b) {
  return a->source.same_as(b->source) && expr_equal(a->lower_factor, b->lower_factor) &&
         expr_equal(a->extent, b->extent);
}

bool same_terms(const IterSumExpr& a, const IterSumExpr& b) {
  if (a->args.size() != b->args.size()) return false;
  for (size_t i = 0; i < a->args.size(); ++i)
    if (!same_digit(a->args[i], b->args[i]) || !expr_equal(a->args[i]->scale, b->args[i]->scale)) return false;
  return true;
}

IterMapRewriter::IterMapRewriter(const Map<Var, Range>& iters, IterMapLevel level, Analyzer* analyzer,
                                 bool simplify_trivial)
    : level_(level), analyzer_(analyzer) {
  for (const auto& [var, range] : iters) {
    PrimExpr extent = simple(range->extent);
    if (simplify_trivial && is_one(extent)) {
      of_var_[var.get()] = make_iter_sum({}, range->min);
      continue;
    }
    IterMark mark = make_iter_mark(is_zero(range->min) ? PrimExpr(var) : PrimExpr(var) - range->min, extent);
    inputs_.push_back(mark);
    of_var_[var.get()] = make_iter_sum({make_iter_split(mark, make_const(var->dtype, 1))}, range->min);
  }
}

IterSumExpr IterMapRewriter::reject(std::string why) {
  errors.push_back(std::move(why));
  return nullptr;
}

bool IterMapRewriter::uses_iter(const PrimExpr& e) const {
  return uses_var(e, [&](const VarNode* v) { return of_var_.count(v); });
}

PrimExpr IterMapRewriter::padding_predicate() const { return padding_.defined() ? padding_ : bool_imm(false); }

void IterMapRewriter::add_padding(const PrimExpr& condition) {
  padding_ = padding_.defined() ? logical_or(padding_, condition) : condition;
}

// ---- expressions to sums ----

IterSumExpr IterMapRewriter::parse(const PrimExpr& index) {
  return on_enough_stack([&] { return parse_node(index); });
}

IterSumExpr IterMapRewriter::parse_node(const PrimExpr& e) {
  if (const auto* var = e.as<VarNode>())
    if (auto it = of_var_.find(var); it != of_var_.end()) return it->second;
  if (!uses_iter(e)) return make_iter_sum({}, e);
  Kind kind = kind_of(e);
  if (!is_arithmetic(kind)) return reject("not a sum of iterators: " + to_text(e));
  const PrimExpr &a = as_binary(e)->a, &b = as_binary(e)->b;
  switch (kind) {
    case Kind::Add:
    case Kind::Sub: {
      IterSumExpr left = parse(a), right = left.defined() ? parse(b) : nullptr;
      return right.defined() ? add(left, right, kind == Kind::Add ? 1 : -1) : nullptr;
    }
    case Kind::Mul: {
      if (uses_iter(a) && uses_iter(b))
        return reject("Product of two iterators cannot be represented as an IterMap, occurs in " + to_text(e));
      IterSumExpr sum = parse(uses_iter(a) ? a : b);
      return sum.defined() ? scale(sum, uses_iter(a) ? b : a) : nullptr;
    }
    case Kind::FloorDiv:
    case Kind::FloorMod: {
      if (uses_iter(b))
        return reject("Cannot represent as an IterMap: the divisor in " + to_text(e) + " is not constant");
      IterSumExpr sum = parse(a);
      return sum.defined() ? divide(sum, b, kind == Kind::FloorDiv, e) : nullptr;
    }
    default: return reject("not a sum of iterators: " + to_text(e));
  }
}

IterSumExpr IterMapRewriter::add(const IterSumExpr& a, const IterSumExpr& b, int sign) {
  std::vector<IterSplitExpr> args = a->args.vec();
  for (const IterSplitExpr& arg : b->args) {
    PrimExpr factor = sign > 0 ? arg->scale : simple(make_zero(arg->scale.dtype()) - arg->scale);
    auto at = std::find_if(args.begin(), args.end(), [&](const IterSplitExpr& x) { return same_digit(x, arg); });
    if (at == args.end()) {
      args.push_back(with(arg, &IterSplitExprNode::scale, factor));
      continue;
    }
    PrimExpr total = simple((*at)->scale + factor);
    if (is_zero(total)) args.erase(at);
    else *at = with(*at, &IterSplitExprNode::scale, total);
  }
  return make_iter_sum(Array<IterSplitExpr>(args), simple(sign > 0 ? a->base + b->base : a->base - b->base));
}

IterSumExpr IterMapRewriter::scale(const IterSumExpr& a, const PrimExpr& by) {
  if (is_zero(by)) return make_iter_sum({}, make_zero(a->dtype));
  std::vector<IterSplitExpr> args;
  for (const IterSplitExpr& arg : a->args)
    args.push_back(with(arg, &IterSplitExprNode::scale, simple(arg->scale * by)));
  return make_iter_sum(Array<IterSplitExpr>(args), simple(a->base * by));
}

// (t * s + base) div d and mod d, t being one digit. Where d does not divide the digit's space, the space is padded.
IterSumExpr IterMapRewriter::divide(const IterSumExpr& a, const PrimExpr& by, bool quotient, const PrimExpr& at) {
  if (is_one(by)) return quotient ? a : make_iter_sum({}, make_zero(a->dtype));
  if (a->args.empty()) return make_iter_sum({}, simple(quotient ? floordiv(a->base, by) : floormod(a->base, by)));
  IterSumExpr one = a->args.size() == 1 ? a : fuse(a);
  if (!one.defined()) return reject("Cannot represent as an IterMap: the dividend of " + to_text(at) + " leaves gaps");
  IterSplitExpr split = one->args[0];
  PrimExpr d = by, base = one->base, zero = make_zero(a->dtype), unit = make_const(a->dtype, 1);
  auto divides = [&](const PrimExpr& x, const PrimExpr& y) { return equal(floormod(x, y), zero); };
  if (!is_one(split->scale)) {
    if (divides(split->scale, d) && divides(base, d)) {
      if (!quotient) return make_iter_sum({}, zero);
      return make_iter_sum({with(split, &IterSplitExprNode::scale, simple(floordiv(split->scale, d)))},
                           simple(floordiv(base, d)));
    }
    bool positive = analyzer_->can_prove_greater_equal(split->scale, 1);
    if (!positive || !divides(d, split->scale) || !divides(base, split->scale))
      return reject("Cannot represent as an IterMap: the divisor in " + to_text(at) + " does not fit the factor " +
                    to_text(split->scale));
    // (t s + b) div (s k) = (t + b/s) div k, and s times the remainder
    d = simple(floordiv(d, split->scale));
    base = simple(floordiv(base, split->scale));
  }
  PrimExpr factor = split->scale;
  if (is_one(d)) {
    if (!quotient) return make_iter_sum({}, zero);
    return make_iter_sum({with(split, &IterSplitExprNode::scale, unit)}, base);
  }
  // What of the base d does not divide shifts the digit.
  PrimExpr left = simple(floormod(base, d)), whole = simple(base - left);
  PrimExpr extent = split->extent, lower = split->lower_factor;
  IterMark mark = split->source;
  PrimExpr padded = simple(ceildiv(left + extent, d) * d);
  IterSumExpr dividend = make_iter_sum({with(split, &IterSplitExprNode::scale, unit)}, base);
  Pad* pad = find_pad(dividend);
  if (pad || !is_zero(left) || !equal(padded, extent)) {
    if (is_zero(left) && analyzer_->can_prove(extent <= d)) {
      // The digit never reaches d.
      if (quotient) return make_iter_sum({}, simple(floordiv(base, d)));
      return make_iter_sum({with(split, &IterSplitExprNode::scale, factor)}, zero);
    }
    // All divisors of one dividend see it padded to a multiple of each of them.
    PrimExpr multiple = padded_to(pad, dividend, d, is_zero(left) ? split : nullptr);
    if (!expr_equal(multiple, d)) {
      left = simple(floormod(base, multiple)), whole = simple(base - left);
      padded = simple(ceildiv(left + extent, multiple) * multiple);
    }
    IterSumExpr shifted = make_iter_sum({with(split, &IterSplitExprNode::scale, unit)}, left);
    const Fused* known = nullptr;
    for (const Fused& f : fused_)
      if (same_terms(f.flat, shifted) && expr_equal(f.flat->base, left) && expr_equal(f.mark->extent, padded))
        known = &f;
    PrimExpr right = simple(padded - left - extent);
    if (!known) {
      mark = make_iter_mark(shifted, padded);
      fused_.push_back({shifted, mark, zero});
      padded_.push_back(mark);
      if (Pad* made = find_pad(dividend)) made->mark = mark;
      if (!is_zero(left))
        add_padding(logical_and(tessera::equal(floordiv(shifted, multiple), zero), floormod(shifted, multiple) < left));
      if (!is_zero(right))
        add_padding(logical_and(tessera::equal(floordiv(shifted, multiple), simple(floordiv(left + extent, multiple))),
                                floormod(shifted, multiple) >= simple(floormod(left + extent, multiple))));
    } else {
      mark = known->mark;
    }
    extent = padded;
    lower = unit;
  }
  if (quotient)
    return make_iter_sum({make_iter_split(mark, simple(lower * d), simple(floordiv(extent, d)), unit)},
                         simple(floordiv(whole, d)));
  return make_iter_sum({make_iter_split(mark, lower, d, factor)}, zero);
}

IterMapRewriter::Pad* IterMapRewriter::find_pad(const IterSumExpr& dividend) {
  for (Pad& pad : pads_)
    if (same_terms(pad.dividend, dividend) && expr_equal(pad.dividend->base, dividend->base)) return &pad;
  return nullptr;
}

PrimExpr IterMapRewriter::padded_to(Pad* pad, const IterSumExpr& dividend, const PrimExpr& d,
                                    const IterSplitExpr& split) {
  const int64_t* divisor = as_int(d);
  if (!divisor || *divisor <= 0) return d;
  auto widen = [this](Pad* known, int64_t by) {
    MaybeInt common = checked_mul(known->multiple / gcd(known->multiple, by), by);
    if (!common || *common == known->multiple) return;
    known->multiple = *common;
    needs_more_padding_ = true;
  };
  if (split) {
    // The upper digit of what is padded itself: better pad that for both.
    const int64_t* lower = as_int(split->lower_factor);
    for (Pad& outer : pads_) {
      bool is_upper = outer.mark.defined() && outer.mark.same_as(split->source) && lower && *lower > 1 &&
                      equal(split->lower_factor * split->extent, split->source->extent);
      if (MaybeInt by = is_upper ? checked_mul(*lower, *divisor) : MaybeInt()) widen(&outer, *by);
    }
  }
  if (pad) {
    widen(pad, *divisor);
    return make_const(d.dtype(), pad->multiple);
  }
  pads_.push_back({dividend, *divisor, nullptr});
  return d;
}

bool IterMapRewriter::restart() {
  if (!needs_more_padding_) return false;
  needs_more_padding_ = false;
  fused_.clear();
  padding_ = nullptr;
  padded_.clear();
  constrained_.clear();
  errors.clear();
  leaves_out_ = false;
  for (Pad& pad : pads_) pad.mark = nullptr;
  return true;
}

// ---- fusing ----

/// Finds the order in which each factor is the product of what stands below it (bijective), or at most that.
bool IterMapRewriter::order_terms(const IterSumExpr& sum, std::vector<IterSplitExpr>* major_first, PrimExpr* unit,
                                  PrimExpr* size) {
  std::vector<IterSplitExpr> left = sum->args.vec(), chosen;
  // The unit is the least factor; a symbolic one counts only when nothing else is there.
  int least = -1;
  int64_t least_value = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const int64_t* factor = as_int(left[i]->scale);
    if (!factor) continue;
    int64_t value = *factor < 0 ? -*factor : *factor;
    if (least < 0 || value < least_value) least = static_cast<int>(i), least_value = value;
  }
  if (least < 0) least = static_cast<int>(left.size()) - 1;
  if (least < 0) return false;
  *unit = left[least]->scale;
  const int64_t* negative = as_int(*unit);
  bool down = negative && *negative < 0;
  if (down && left.size() > 1) return false;
  PrimExpr expected = *unit;
  while (!left.empty()) {
    int found = -1;
    for (size_t i = 0; i < left.size() && found < 0; ++i)
      if (equal(left[i]->scale, expected)) found = static_cast<int>(i);
    if (found >= 0) {
      IterSplitExpr term = left[found];
      left.erase(left.begin() + found);
      chosen.push_back(term);
      expected = simple(expected * term->extent);
      continue;
    }
    if (level_ == IterMapLevel::Bijective) return false;
    // Windows may overlap: the largest factor below what is covered already.
    const int64_t* reach = as_int(expected);
    int64_t best = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      const int64_t* factor = as_int(left[i]->scale);
      if (factor && reach && *factor > best && *factor <= *reach) best = *factor, found = static_cast<int>(i);
    }
    if (found < 0) return false;
    IterSplitExpr term = left[found];
    left.erase(left.begin() + found);
    chosen.push_back(term);
    expected = simple(expected + (term->extent - make_const(term->extent.dtype(), 1)) * term->scale);
  }
  major_first->assign(chosen.rbegin(), chosen.rend());
  *size = simple(floordiv(expected, *unit));
  return true;
}

const IterMapRewriter::Fused* IterMapRewriter::find_fused(const IterSumExpr& flat) const {
  for (const Fused& known : fused_)
    if (is_zero(known.flat->base) && same_terms(known.flat, flat)) return &known;
  return nullptr;
}

IterSumExpr IterMapRewriter::fuse(const IterSumExpr& sum) {
  if (sum->args.empty()) return sum;
  std::vector<IterSplitExpr> major_first;
  PrimExpr unit, size;
  if (!order_terms(sum, &major_first, &unit, &size)) return nullptr;
  std::vector<IterSplitExpr> terms;
  for (const IterSplitExpr& term : major_first)
    terms.push_back(is_one(unit) ? term : with(term, &IterSplitExprNode::scale, simple(floordiv(term->scale, unit))));
  PrimExpr zero = make_zero(sum->dtype);
  IterSumExpr flat = make_iter_sum(Array<IterSplitExpr>(terms), zero);
  const Fused* known = find_fused(flat);
  if (!known) {
    fused_.push_back({flat, make_iter_mark(flat, size), zero});
    known = &fused_.back();
  }
  return make_iter_sum({make_iter_split(known->mark, unit)}, simple(sum->base + known->base * unit));
}

IterSumExpr IterMapRewriter::normalize(const PrimExpr& index) {
  IterSumExpr sum = parse(index);
  if (!sum.defined()) return sum;
  IterSumExpr out = fuse(sum);
  return out.defined() ? out : reject("Could not normalize iterators");
}

}  // namespace tessera::arith
