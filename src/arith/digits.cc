#include "arith/digits.h"

#include <algorithm>

#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

bool same_index(const Digit& a, const Digit& b) { return expr_equal(a.index, b.index); }
bool same_rounding(const Digit& a, const Digit& b) { return a.floors == b.floors || a.is_plain() || b.is_plain(); }

/// Equal digits are added up. False on overflow.
bool merge_equal(std::vector<Digit>* digits) {
  DigitSum sum;
  for (const Digit& digit : *digits)
    if (!add_digit(&sum, digit, 1)) return false;
  *digits = std::move(sum.digits);
  return true;
}

}  // namespace

bool add_digit(DigitSum* sum, Digit digit, int64_t scale) {
  MaybeInt scaled = checked_mul(digit.scale, scale);
  if (!scaled || *scaled == INT64_MIN) return false;
  digit.scale = *scaled;
  if (digit.scale == 0) return true;
  auto& digits = sum->digits;
  auto at = std::find_if(digits.begin(), digits.end(), [&](const Digit& d) { return same_index(d, digit); });
  for (; at != digits.end() && same_index(*at, digit); ++at) {
    if (digit.lower > at->lower) break;
    if (digit.lower == at->lower && digit.upper == at->upper && same_rounding(*at, digit)) {
      MaybeInt total = checked_add(at->scale, digit.scale);
      if (!total || *total == INT64_MIN) return false;
      at->scale = *total;
      if (at->scale == 0) digits.erase(at);
      return true;
    }
  }
  digits.insert(at, std::move(digit));
  return true;
}

bool add_sum(DigitSum* sum, const DigitSum& other, int64_t scale) {
  MaybeInt base = checked_mul(other.base, scale);
  if (base) base = checked_add(sum->base, *base);
  if (!base) return false;
  sum->base = *base;
  for (const Digit& digit : other.digits)
    if (!add_digit(sum, digit, scale)) return false;
  return true;
}

bool multiply(DigitSum* sum, int64_t by) {
  DigitSum out{sum->dtype, {}, 0};
  if (!add_sum(&out, *sum, by)) return false;
  *sum = std::move(out);
  return true;
}

void merge_digits(std::vector<Digit>* digits) {
  size_t before = digits->size();
  for (size_t i = 0; i + 1 < digits->size(); ++i)
    for (size_t j = i + 1; j < digits->size() && same_index((*digits)[i], (*digits)[j]); ++j) {
      Digit &high = (*digits)[i], &low = (*digits)[j];
      if (high.scale == 0 || low.scale == 0 || high.lower != low.upper || !same_rounding(high, low)) continue;
      MaybeInt needed = checked_mul(low.scale, high.lower / low.lower);
      if (!needed || high.scale != *needed) continue;
      low.upper = high.upper;
      low.floors = low.is_plain() || low.floors;
      high.scale = 0;
      break;
    }
  std::erase_if(*digits, [](const Digit& d) { return d.scale == 0; });
  if (digits->size() < before && merge_equal(digits)) merge_digits(digits);
}

bool stands_before(const Digit& a, const Digit& b) {
  if (a.scale != b.scale) return a.scale > b.scale;
  if (a.lower != b.lower) return a.lower > b.lower;
  if (a.upper != b.upper) return a.upper > b.upper;
  return a.floors < b.floors;
}

void separate(const DigitSum& a, int64_t c, DigitSum* divisible, DigitSum* rest) {
  divisible->dtype = rest->dtype = a.dtype;
  for (const Digit& digit : a.digits) (digit.scale % c == 0 ? divisible : rest)->digits.push_back(digit);
  // the constant is divided too
  MaybeInt whole = checked_sub(a.base, floor_mod(a.base, c));
  divisible->base = whole ? *whole : 0;
  rest->base = whole ? floor_mod(a.base, c) : a.base;
}

void exact_divide(DigitSum* sum, int64_t c) {
  for (Digit& digit : sum->digits) digit.scale /= c;
  sum->base /= c;
}

}  // namespace tessera::arith
