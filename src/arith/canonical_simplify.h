#pragma once
// Simplification by normal form: a sum of scaled digits,
//
//   base + sum of  (index mod upper) div lower * scale
//
// in which equal terms meet, digits of one index are merged ((x // 4) * 4 + x % 4 = x), and quotients and remainders of a
// sum are taken apart by what divides. All else is done by rules as in RewriteSimplifier.

#include <memory>

#include "arith/digits.h"
#include "arith/rewrite_simplify.h"

namespace tessera::arith {

class CanonicalSimplifier : public RewriteSimplifier {
 public:
  using RewriteSimplifier::RewriteSimplifier;
  void forget() {
    RewriteSimplifier::forget();
    sums_.clear();
  }
  using SumRef = std::shared_ptr<const DigitSum>;
  Memo<SumRef>& sums() { return sums_; }

 protected:
  PrimExpr compute(const PrimExpr& e) override;

 private:
  SumRef sum_of(const PrimExpr& e);
  DigitSum make_sum(const PrimExpr& e);
  std::optional<DigitSum> arithmetic(const PrimExpr& e);
  std::optional<DigitSum> quotient(const DigitSum& a, int64_t c, bool floors);
  std::optional<DigitSum> remainder(const DigitSum& a, int64_t c, bool floors);
  std::optional<DigitSum> cast_sum(DataType dtype, const PrimExpr& value);
  PrimExpr divide_out(const PrimExpr& e);
  Digit divide_digit(Digit digit, int64_t c, DataType dtype);
  Digit reduce_digit(Digit digit, int64_t c, DataType dtype);
  PrimExpr digit_expr(const Digit& digit, DataType dtype);
  PrimExpr scaled(const Digit& digit, int64_t scale, DataType dtype);
  void merge_congruent(DigitSum* sum);
  PrimExpr expr_of(DigitSum sum);
  IntBound bound_of_sum(const DigitSum& sum);

  Memo<SumRef> sums_;
};

}  // namespace tessera::arith
