#include "arith/canonical_simplify.h"

#include <algorithm>

#include "arith/core.h"
#include "arith/kind.h"
#include "base/stack.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
// ---- back to expressions ----

PrimExpr CanonicalSimplifier::digit_expr(const Digit& digit, DataType dtype) {
  PrimExpr e = digit.index;
  IntBound bound = bound_of(e);
  Kind div = digit.floors ? Kind::FloorDiv : Kind::Div, mod = digit.floors ? Kind::FloorMod : Kind::Mod;
  if (digit.upper != kPosInf && !bound.within(0, digit.upper - 1)) {
    if (!fits(dtype, digit.upper)) return nullptr;
    e = make_node(mod, e, int_imm(dtype, digit.upper));
    bound = {digit.floors ? 0 : 1 - digit.upper, digit.upper - 1};
  }
  if (digit.lower == 1) return e;
  if (bound.within(0, digit.lower - 1)) return make_zero(dtype);
  if (!fits(dtype, digit.lower)) return nullptr;
  return make_node(div, e, int_imm(dtype, digit.lower));
}

PrimExpr CanonicalSimplifier::scaled(const Digit& digit, int64_t scale, DataType dtype) {
  PrimExpr e = digit_expr(digit, dtype);
  if (!e.defined() || !fits(dtype, scale)) return nullptr;
  return make_node(Kind::Mul, e, int_imm(dtype, scale));
}

/// x // c * c + y % c = x where c divides x - y: remainders are kept with small factors, (x * 16 + z) % 14 as (x * 2 + z) % 14.
void CanonicalSimplifier::merge_congruent(DigitSum* sum) {
  for (size_t i = 0; i < sum->digits.size(); ++i)
    for (size_t j = 0; j < sum->digits.size(); ++j) {
      const Digit high = sum->digits[i], low = sum->digits[j];
      if (high.lower == 1 || high.upper != kPosInf || low.lower != 1 || low.upper != high.lower) continue;
      if (!high.floors || !low.floors || checked_mul(low.scale, high.lower) != MaybeInt(high.scale)) continue;
      DigitSum apart = *sum_of(high.index), merged{sum->dtype, {}, sum->base};
      if (!add_sum(&apart, *sum_of(low.index), -1) || apart.base % high.lower != 0) continue;
      if (std::any_of(apart.digits.begin(), apart.digits.end(),
                      [&](const Digit& digit) { return digit.scale % high.lower != 0; }))
        continue;
      bool fits = add_sum(&merged, *sum_of(high.index), low.scale);
      for (size_t n = 0; fits && n < sum->digits.size(); ++n)
        if (n != i && n != j) fits = add_digit(&merged, sum->digits[n], 1);
      if (!fits) continue;
      *sum = std::move(merged);
      return merge_congruent(sum);
    }
}

/// Positive terms, the constant when positive, negative terms, the constant when negative. Empty when a number in it
/// does not fit the type.
PrimExpr CanonicalSimplifier::expr_of(DigitSum sum) {
  DataType dtype = sum.dtype;
  std::vector<Digit>& digits = sum.digits;
  merge_digits(&digits);
  merge_congruent(&sum);
  std::stable_sort(digits.begin(), digits.end(), stands_before);
  if (sum.base == INT64_MIN || !fits(dtype, sum.base) || !fits(dtype, -sum.base)) return nullptr;
  PrimExpr out = make_zero(dtype);
  for (const Digit& digit : digits) {
    if (digit.scale < 0) continue;
    PrimExpr term = scaled(digit, digit.scale, dtype);
    if (!term.defined()) return nullptr;
    out = make_node(Kind::Add, out, term);
  }
  if (sum.base > 0) out = make_node(Kind::Add, out, int_imm(dtype, sum.base));
  bool only_negative = digits.size() == 1 && digits[0].scale < 0 && sum.base == 0;
  for (const Digit& digit : digits) {
    if (digit.scale >= 0) continue;
    PrimExpr term = scaled(digit, only_negative && digit.scale != -1 ? digit.scale : sat_neg(digit.scale), dtype);
    if (!term.defined()) return nullptr;
    if (only_negative && digit.scale != -1) return term;
    out = make_node(Kind::Sub, out, term);
  }
  if (sum.base < 0) out = make_node(Kind::Sub, out, int_imm(dtype, -sum.base));
  return out;
}

IntBound CanonicalSimplifier::bound_of_sum(const DigitSum& sum) {
  IntBound out = IntBound::single(sum.base);
  for (const Digit& digit : sum.digits) {
    PrimExpr e = digit_expr(digit, sum.dtype);
    IntBound b = e.defined() ? bound_of(e) : IntBound{};
    int64_t p = sat_mul(b.min, digit.scale), q = sat_mul(b.max, digit.scale);
    out.min = sat_add(out.min, std::min(p, q));
    out.max = sat_add(out.max, std::max(p, q));
  }
  return out;
}

// ---- quotients and remainders ----

Digit CanonicalSimplifier::divide_digit(Digit digit, int64_t c, DataType dtype) {
  if (digit.scale % c == 0) {
    digit.scale /= c;
    return digit;
  }
  if (digit.scale > 0 && c % digit.scale == 0) {
    c /= digit.scale;
    digit.scale = 1;
    MaybeInt lower = checked_mul(digit.lower, c);
    if (lower && (digit.upper == kPosInf || digit.upper % *lower == 0)) {
      digit.lower = *lower;
      return digit;
    }
    if (lower && *lower >= digit.upper) {
      digit.scale = 0;
      return digit;
    }
  }
  DigitSum sum{dtype, {digit}, 0};
  return {.index = expr_of(sum), .lower = c, .floors = digit.floors};
}

Digit CanonicalSimplifier::reduce_digit(Digit digit, int64_t c, DataType dtype) {
  if (digit.scale % c == 0) {
    digit.scale = 0;
    return digit;
  }
  if (digit.scale > 0 && c % digit.scale == 0) {
    int64_t k = c / digit.scale;
    MaybeInt upper = checked_mul(digit.lower, k);
    if (upper && (digit.upper == kPosInf || digit.upper % *upper == 0)) {
      digit.upper = *upper;
      return digit;
    }
    if (upper && *upper % digit.upper == 0) return digit;
  }
  DigitSum sum{dtype, {digit}, 0};
  return {.index = expr_of(sum), .upper = c, .floors = digit.floors};
}

namespace {

/// c = g * k with a = g * high + low and 0 <= low < g, for the largest such g among the factors of a's terms; the caller
/// gives the bound of a sum.
template <class Bound>
int64_t find_grain(const DigitSum& a, int64_t c, const Bound& bound, DigitSum* high, DigitSum* low) {
  std::vector<int64_t> factors;
  for (const Digit& digit : a.digits) factors.push_back(gcd(digit.scale, c));
  std::sort(factors.begin(), factors.end(), std::greater<>());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  for (int64_t g : factors) {
    if (g <= 1) break;
    *high = {}, *low = {};
    separate(a, g, high, low);
    if (bound(*low).within(0, g - 1)) return g;
  }
  return 1;
}

int size_of(const PrimExpr& e) {
  return is_binary(kind_of(e)) ? 1 + size_of(as_binary(e)->a) + size_of(as_binary(e)->b) : 1;
}

}  // namespace

std::optional<DigitSum> CanonicalSimplifier::quotient(const DigitSum& a, int64_t c, bool floors) {
  if (c <= 0) return {};
  DigitSum divisible, rest;
  separate(a, c, &divisible, &rest);
  if (!floors) {
    bool exact = rest.digits.empty() && rest.base == 0;
    if (!exact && (bound_of_sum(divisible).min < 0 || bound_of_sum(rest).min < 0)) {
      PrimExpr e = expr_of(a);
      if (!e.defined()) return {};
      Digit digit{.index = e, .floors = false};
      if (a.base == 0 && a.digits.size() == 1 && (a.digits[0].is_plain() || !a.digits[0].floors)) digit = a.digits[0];
      digit.floors = false;
      digit = divide_digit(digit, c, a.dtype);
      if (!digit.index.defined()) return {};
      return DigitSum{a.dtype, {digit}, 0};
    }
  }
  exact_divide(&divisible, c);
  if (bound_of_sum(rest).within(0, c - 1)) return divisible;
  DigitSum high, low;
  int64_t g = find_grain(rest, c, [this](const DigitSum& s) { return bound_of_sum(s); }, &high, &low);
  if (g > 1 && (!low.digits.empty() || low.base != 0)) {
    exact_divide(&high, g);
    rest = std::move(high);
    c /= g;
  }
  if (rest.digits.empty()) return rest.base >= 0 && rest.base < c ? std::optional(divisible) : std::nullopt;
  if (rest.base != 0 && g == 1) {  // a constant that is not a multiple stays in one piece
    rest.base = a.base;
    divisible.base = 0;
  }
  Digit digit;
  if (rest.digits.size() == 1 && rest.base == 0) {
    digit = rest.digits[0];
    if (digit.is_plain()) digit.floors = floors;
    if (digit.floors != floors) digit = {.index = expr_of(rest)};
  } else {
    digit = {.index = expr_of(rest)};
  }
  if (!digit.index.defined()) return {};
  digit.floors = floors;
  digit = divide_digit(digit, c, a.dtype);
  if (!digit.index.defined() || !add_digit(&divisible, digit, 1)) return {};
  return divisible;
}

std::optional<DigitSum> CanonicalSimplifier::remainder(const DigitSum& a, int64_t c, bool floors) {
  if (c <= 0) return {};
  DigitSum divisible, rest;
  separate(a, c, &divisible, &rest);
  bool exact = rest.digits.empty() && rest.base == 0;
  if (exact) return DigitSum{a.dtype, {}, 0};
  if (!floors && (bound_of_sum(divisible).min < 0 || bound_of_sum(rest).min < 0)) {
    if (a.digits.size() == 1 && a.base == 0) {
      Digit digit = a.digits[0];
      if (digit.is_plain()) digit.floors = false;
      if (!digit.floors) {
        digit = reduce_digit(digit, c, a.dtype);
        if (digit.index.defined()) return DigitSum{a.dtype, {digit}, 0};
      }
    }
    PrimExpr e = expr_of(a);
    if (!e.defined()) return {};
    return DigitSum{a.dtype, {{.index = e, .upper = c, .floors = false}}, 0};
  }
  if (bound_of_sum(rest).within(0, c - 1)) return rest;
  DigitSum high, low;
  int64_t g = find_grain(rest, c, [this](const DigitSum& s) { return bound_of_sum(s); }, &high, &low);
  if (g > 1 && (!low.digits.empty() || low.base != 0)) {
    exact_divide(&high, g);
    std::optional<DigitSum> reduced = remainder(high, c / g, floors);
    if (!reduced || !multiply(&*reduced, g) || !add_sum(&*reduced, low, 1)) return {};
    PrimExpr apart = expr_of(*reduced), together = expr_of(rest);
    if (apart.defined() && together.defined() && size_of(apart) < size_of(together) + 2) return reduced;
  }
  if (floors)
    for (Digit& digit : rest.digits)
      if (digit.scale >= c || digit.scale <= -c) digit.scale = floor_mod(digit.scale, c);
  Digit digit;
  bool single = rest.digits.size() == 1 && rest.base == 0;
  if (single) digit = rest.digits[0];
  if (single && digit.is_plain()) digit.floors = floors;
  if (!single || digit.floors != floors) digit = {.index = expr_of(rest), .floors = floors};
  if (!digit.index.defined()) return {};
  digit = reduce_digit(digit, c, a.dtype);
  if (!digit.index.defined()) return {};
  DigitSum out{a.dtype, {}, 0};
  if (!add_digit(&out, digit, 1)) return {};
  return out;
}

std::optional<DigitSum> CanonicalSimplifier::cast_sum(DataType dtype, const PrimExpr& value) {
  if (!is_index_type(value.dtype())) return {};
  const SumRef inner = sum_of(value);
  IntBound all = IntBound::of(dtype);
  bool wider = dtype.bits >= value.dtype().bits;
  // A narrower sum must not overflow on its way to the result: each part fits, and so does what is summed so far.
  auto kept = [&](IntBound bound) { return wider || bound.within(all.min, all.max); };
  DigitSum out{dtype, {}, inner->base}, so_far{value.dtype(), {}, 0};
  if (!fits(dtype, inner->base) || !kept(bound_of_sum(*inner))) return {};
  for (Digit digit : inner->digits) {
    so_far.digits.push_back(digit);
    if (!kept(bound_of(digit.index)) || !kept(bound_of_sum({value.dtype(), {digit}, 0})) || !kept(bound_of_sum(so_far)))
      return {};
    if (!fits(dtype, digit.lower) || !fits(dtype, digit.scale)) return {};
    if (digit.upper != kPosInf && !fits(dtype, digit.upper)) return {};
    if (digit.index.dtype() != dtype) {
      Cast node;
      node.dtype = dtype;
      node.value = digit.index;
      digit.index = make(std::move(node));
    }
    if (!add_digit(&out, digit, 1)) return {};
  }
  return out;
}

// ---- into sums ----

std::optional<DigitSum> CanonicalSimplifier::arithmetic(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (kind == Kind::Cast) return cast_sum(e.dtype(), static_cast<const Cast*>(e.get())->value);
  if (!is_arithmetic(kind)) return {};
  const BinaryNode* node = as_binary(e);
  switch (kind) {
    case Kind::Add:
    case Kind::Sub: {
      // A long sum is taken as one, not as a chain of sums of its beginnings.
      DigitSum out{e.dtype(), {}, 0};
      std::vector<std::pair<PrimExpr, int>> pending{{e, 1}};
      while (!pending.empty()) {
        auto [term, sign] = pending.back();
        pending.pop_back();
        Kind inner = kind_of(term);
        if (inner == Kind::Add || inner == Kind::Sub) {
          pending.emplace_back(as_binary(term)->b, inner == Kind::Add ? sign : -sign);
          pending.emplace_back(as_binary(term)->a, sign);
        } else if (!add_sum(&out, *sum_of(term), sign)) {
          return {};
        }
      }
      return out;
    }
    case Kind::Mul: {
      SumRef a = sum_of(node->a), b = sum_of(node->b);
      if (a->digits.empty()) std::swap(a, b);
      if (!b->digits.empty()) return {};
      DigitSum out = *a;
      if (!multiply(&out, b->base)) return {};
      return out;
    }
    case Kind::Div:
    case Kind::FloorDiv:
    case Kind::Mod:
    case Kind::FloorMod: {
      SumRef b = sum_of(node->b);
      if (!b->digits.empty() || b->base <= 0) return {};
      bool floors = kind == Kind::FloorDiv || kind == Kind::FloorMod;
      bool divides = kind == Kind::Div || kind == Kind::FloorDiv;
      SumRef a = sum_of(node->a);
      return divides ? quotient(*a, b->base, floors) : remainder(*a, b->base, floors);
    }
    default: return {};
  }
}

DigitSum CanonicalSimplifier::make_sum(const PrimExpr& e) {
  if (const int64_t* value = as_int(e)) return {e.dtype(), {}, *value};
  if (std::optional<DigitSum> sum = arithmetic(e)) return *sum;
  PrimExpr simple = visit(e);
  if (const int64_t* value = as_int(simple)) return {e.dtype(), {}, *value};
  // What the rules made of it may be a sum again.
  if (!simple.same_as(e) && !expr_equal(simple, e))
    if (std::optional<DigitSum> sum = arithmetic(simple)) return *sum;
  return {e.dtype(), {{.index = simple}}, 0};
}

CanonicalSimplifier::SumRef CanonicalSimplifier::sum_of(const PrimExpr& e) {
  if (const SumRef* known = sums_.find(e)) return *known;
  SumRef sum = on_enough_stack([&] { return std::make_shared<const DigitSum>(make_sum(e)); });
  sums_.insert(e, sum);
  return sum;
}

PrimExpr CanonicalSimplifier::compute(const PrimExpr& e) {
  Kind kind = kind_of(e);
  bool sums = is_index_type(e.dtype()) &&
              ((is_arithmetic(kind) && kind != Kind::Min && kind != Kind::Max) || (kind == Kind::Cast));
  if (sums) {
    std::optional<DigitSum> sum = arithmetic(e);
    if (sum) {
      PrimExpr out = expr_of(*sum);
      if (out.defined()) {
        sums_.insert(e, std::make_shared<const DigitSum>(std::move(*sum)));
        // -x as it came
        if (kind == Kind::Mul && kind_of(out) == Kind::Sub && is_zero(as_binary(out)->a))
          out = bare_node(Kind::Mul, as_binary(out)->b, make_const(e.dtype(), -1));
        return expr_equal(out, e) ? e : out;
      }
    }
  }
  PrimExpr out = RewriteSimplifier::compute(e);
  return kind_of(out) == Kind::LT && is_index_type(as_binary(out)->a.dtype()) ? divide_out(out) : out;
}

// x * 16 + y < 32   =>   x < 2   where 0 <= y < 16; where a quotient of y would be left, the first form is cheaper
PrimExpr CanonicalSimplifier::divide_out(const PrimExpr& e) {
  const int64_t* limit = as_int(as_binary(e)->b);
  if (!limit || kind_of(as_binary(e)->a) != Kind::Add) return e;
  const SumRef sum = sum_of(as_binary(e)->a);
  int64_t largest = 0;
  for (const Digit& digit : sum->digits) {
    if (digit.scale < 0) return e;
    largest = std::max(largest, digit.scale);
  }
  int64_t d = gcd(largest, *limit);
  if (d <= 1 || sum->base != 0) return e;
  DigitSum divisible, rest;
  separate(*sum, d, &divisible, &rest);
  exact_divide(&divisible, d);
  std::optional<DigitSum> quotient_of_rest = quotient(rest, d, true);
  if (!quotient_of_rest || !quotient_of_rest->digits.empty() || !add_sum(&divisible, *quotient_of_rest, 1)) return e;
  PrimExpr left = expr_of(divisible);
  if (!left.defined()) return e;
  return visit(bare_node(Kind::LT, left, make_const(left.dtype(), *limit / d)));
}

}  // namespace tessera::arith
