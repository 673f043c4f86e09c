#pragma once
// Sums of digits, the normal form of canonical simplification. Internal to arith.

#include <vector>

#include "arith/int_math.h"
#include "ir/expr.h"

namespace tessera::arith {

/// (index mod upper) div lower * scale. upper = kPosInf: no mod. lower divides upper.
struct Digit {
  PrimExpr index;
  int64_t lower = 1, upper = kPosInf, scale = 1;
  bool floors = true;  // else quotients and remainders round to zero
  bool is_plain() const { return lower == 1 && upper == kPosInf; }
};

struct DigitSum {
  DataType dtype;
  std::vector<Digit> digits;
  int64_t base = 0;
};

/// Adds `digit * scale`, keeping digits of one index together with the highest first. False on overflow.
bool add_digit(DigitSum* sum, Digit digit, int64_t scale);
/// Adds `other * scale`. False on overflow.
bool add_sum(DigitSum* sum, const DigitSum& other, int64_t scale);
bool multiply(DigitSum* sum, int64_t by);
/// Divides by what divides every part.
void exact_divide(DigitSum* sum, int64_t c);
/// Parts a sum into terms that c divides and the rest; the constant is divided too.
void separate(const DigitSum& a, int64_t c, DigitSum* divisible, DigitSum* rest);
/// Neighbouring digits of one index become one: (x % 16 // 4) * 4 + x % 4 = x % 16.
void merge_digits(std::vector<Digit>* digits);
/// Large factors first, then high digits; terms that tie stay as they came.
bool stands_before(const Digit& a, const Digit& b);

}  // namespace tessera::arith
