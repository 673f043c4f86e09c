// pow of float64, all lanes at once: e^(y log|x|) with the logarithm in two float64, then the sign and the edges.
//
// An error in y * log|x| is a relative error of the answer, and the product reaches 745: the logarithm needs some twelve
// bits more than a float64 holds. Pairs (high, low) with |low| below half a unit of high carry them; the sums and products
// of pairs are Dekker's, which must not be contracted.

#include <cmath>

#include "codegen/intrin_rules/coefficients.h"
#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

using llvm::Value;

struct Pair {
  Value *high, *low;
};

/// Arithmetic on values of one type, float64 or a vector of it.
class Reals {
 public:
  Reals(llvm::IRBuilder<>& builder, llvm::Type* type)
      : builder_(builder), type_(type), integer_(type->getWithNewType(builder.getInt64Ty())), guard_(builder) {
    builder.clearFastMathFlags();
  }

  Value* operator()(double value) const { return llvm::ConstantFP::get(type_, value); }
  Value* bits(int64_t value) const { return llvm::ConstantInt::get(integer_, static_cast<uint64_t>(value)); }
  Value* as_bits(Value* x) const { return builder_.CreateBitCast(x, integer_); }
  Value* from_bits(Value* x) const { return builder_.CreateBitCast(x, type_); }
  Value* add(Value* a, Value* b) const { return builder_.CreateFAdd(a, b); }
  Value* sub(Value* a, Value* b) const { return builder_.CreateFSub(a, b); }
  Value* mul(Value* a, Value* b) const { return builder_.CreateFMul(a, b); }
  Value* div(Value* a, Value* b) const { return builder_.CreateFDiv(a, b); }
  Value* floor(Value* x) const { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x); }
  Value* size(Value* x) const { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  Value* select(Value* c, Value* a, Value* b) const { return builder_.CreateSelect(c, a, b); }

  /// a + b exactly, where a is the larger (or 0).
  Pair quick_sum(Value* a, Value* b) const {
    Value* sum = add(a, b);
    return {sum, sub(b, sub(sum, a))};
  }
  /// a + b exactly.
  Pair exact_sum(Value* a, Value* b) const {
    Value *sum = add(a, b), *b_part = sub(sum, a);
    return {sum, add(sub(a, sub(sum, b_part)), sub(b, b_part))};
  }
  /// a * b exactly: the factors are split into halves of 26 bits.
  Pair exact_product(Value* a, Value* b) const {
    Value *a_high = upper_half(a), *a_low = sub(a, a_high), *b_high = upper_half(b), *b_low = sub(b, b_high);
    Value* product = mul(a, b);
    Value* error = add(add(sub(mul(a_high, b_high), product), mul(a_low, b_high)), mul(a_high, b_low));
    return {product, add(error, mul(a_low, b_low))};
  }
  Pair product(const Pair& a, const Pair& b) const {
    Pair out = exact_product(a.high, b.high);
    out.low = add(out.low, add(mul(a.high, b.low), mul(a.low, b.high)));
    return quick_sum(out.high, out.low);
  }
  Value* polynomial(Value* x, std::span<const double> coefficients) const {
    Value* out = (*this)(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) out = add(mul(out, x), (*this)(coefficients[i]));
    return out;
  }

 private:
  Value* upper_half(Value* x) const { return from_bits(builder_.CreateAnd(as_bits(x), bits(-(int64_t{1} << 27)))); }

  llvm::IRBuilder<>& builder_;
  llvm::Type *type_, *integer_;
  llvm::IRBuilder<>::FastMathFlagGuard guard_;
};

constexpr double kLn2High = 0.69314718036912381649, kLn2Low = 1.9082149292705877000e-10;

/// log of a positive finite number: x = 2^e m with m around 1, and log(m) is a series in s = (m - 1) / (m + 1).
Pair log_pair(llvm::IRBuilder<>& builder, const Reals& real, Value* x) {
  Value* is_tiny = builder.CreateFCmpOLT(x, real(0x1p-1022));
  x = real.select(is_tiny, real.mul(x, real(0x1p54)), x);
  Value* sqrt_half = real.bits(0x3fe6a09e667f3bcd);
  Value* bits = builder.CreateSub(real.as_bits(x), sqrt_half);
  Value* mantissa = builder.CreateAnd(bits, real.bits((int64_t{1} << 52) - 1));
  Value* m = real.from_bits(builder.CreateAdd(mantissa, sqrt_half));
  // the exponent as a float: added to the bits of 2^52 + 2^51 it is the last bits of a whole number
  Value* exponent = builder.CreateAdd(builder.CreateAShr(bits, 52), real.bits(0x4338000000000000));
  Value* e = real.sub(real.from_bits(exponent), real(0x1.8p52));
  e = real.sub(e, real.select(is_tiny, real(54), real(0)));

  Value* above = real.sub(m, real(1));
  Pair below = real.exact_sum(m, real(1));
  Value* quotient = real.div(above, below.high);
  Pair back = real.exact_product(quotient, below.high);
  Value* missing = real.sub(real.sub(real.sub(above, back.high), back.low), real.mul(quotient, below.low));
  Pair s = real.quick_sum(quotient, real.div(missing, below.high));

  Pair u = real.product(s, s), cube = real.product(s, u);
  Pair second = real.product(cube, {real(0x1.5555555555555p-1), real(0x1.5555555555555p-55)});  // 2/3
  Value* rest = real.mul(real.mul(cube.high, u.high), real.polynomial(u.high, coefficients::kLogTail64));
  Pair sum = real.exact_sum(real.mul(e, real(kLn2High)), real.add(s.high, s.high));
  Value* low = real.add(sum.low, real.add(real.add(s.low, s.low), real.mul(e, real(kLn2Low))));
  sum = real.exact_sum(sum.high, second.high);
  low = real.add(real.add(low, real.add(sum.low, second.low)), rest);
  return real.quick_sum(sum.high, low);
}

/// e^(x.high + x.low), with 0 and infinity where it leaves the type.
Value* exp_of_pair(llvm::IRBuilder<>& builder, const Reals& real, Pair x) {
  for (double limit : {-800.0, 800.0}) {
    Value* is_beyond =
        limit < 0 ? builder.CreateFCmpOLT(x.high, real(limit)) : builder.CreateFCmpOGT(x.high, real(limit));
    x = {real.select(is_beyond, real(limit), x.high), real.select(is_beyond, real(0), x.low)};
  }
  Value* shifted = real.add(real.mul(x.high, real(1.4426950408889634074)), real(0x1.8p52));
  Value* n = real.sub(shifted, real(0x1.8p52));
  Value* reduced = real.sub(x.high, real.mul(n, real(kLn2High)));
  Pair r = real.exact_sum(reduced, real.sub(x.low, real.mul(n, real(kLn2Low))));
  Value* p = real.polynomial(r.high, coefficients::kExp64);
  Value* y = real.add(real(1), real.add(r.high, real.add(real.mul(real.mul(r.high, r.high), p), r.low)));

  // 2^n in two factors, so that the answer may be denormal
  Value* whole = builder.CreateSub(real.as_bits(shifted), real.bits(0x4338000000000000));
  Value* half = builder.CreateAShr(whole, 1);
  for (Value* part : {half, builder.CreateSub(whole, half)})
    y = real.mul(y, real.from_bits(builder.CreateShl(builder.CreateAdd(part, real.bits(1023)), 52)));
  return y;
}

}  // namespace

llvm::Value* CodeGen::power(Value* x, Value* y, DataType dtype) {
  Reals real(builder_, value_type(dtype));
  Value *zero = real(0), *one = real(1), *inf = real(INFINITY), *size = real.size(x);
  Pair log = log_pair(builder_, real, size);
  // at 0 and infinity the series has no meaning, but the logarithm has a limit; a NaN stays
  Value* is_usual = builder_.CreateAnd(builder_.CreateFCmpOGT(size, zero), builder_.CreateFCmpOLT(size, inf));
  Value* limit = real.select(builder_.CreateFCmpOEQ(size, zero), real(-INFINITY), size);
  log = {real.select(is_usual, log.high, limit), real.select(is_usual, log.low, zero)};
  Pair product = real.exact_product(log.high, y);
  product.low = real.add(product.low, real.mul(log.low, y));
  Value* size_of_power = exp_of_pair(builder_, real, product);

  Value *is_whole = builder_.CreateFCmpOEQ(real.floor(y), y), *half = real.mul(y, real(0.5));
  Value* is_odd = builder_.CreateAnd(is_whole, builder_.CreateFCmpONE(real.floor(half), half));
  Value* is_negative = builder_.CreateICmpSLT(real.as_bits(x), real.bits(0));  // -0.0 too
  Value* has_answer = builder_.CreateOr(is_whole, builder_.CreateFCmpUGE(x, zero));
  has_answer = builder_.CreateOr(has_answer, builder_.CreateFCmpOEQ(size, inf));
  Value* is_unit = builder_.CreateAnd(builder_.CreateFCmpOEQ(size, one), builder_.CreateFCmpOEQ(real.size(y), inf));
  Value* is_one =
      builder_.CreateOr(builder_.CreateFCmpOEQ(y, zero), builder_.CreateOr(builder_.CreateFCmpOEQ(x, one), is_unit));
  Value* signed_power =
      real.select(builder_.CreateAnd(is_negative, is_odd), builder_.CreateFNeg(size_of_power), size_of_power);
  return real.select(is_one, one, real.select(has_answer, signed_power, real(NAN)));
}

}  // namespace tessera::codegen
