// sin, cos and tan of all lanes at once.
//
// x = n * pi/2 + r with |r| <= pi/4: the quadrant n % 4 says which of sin(r), cos(r) and their negatives is meant, and both
// are Taylor polynomials that end below half a unit in the last place; tan is their quotient. n * pi/2 is taken off in
// parts of 33 bits, whose products with n are exact (Cody and Waite). float32 is computed in float64. Where a lane is too
// large for that, infinite or NaN, the C library does the whole vector.

#include "codegen/llvm/codegen.h"

namespace tessera::codegen {
namespace {

constexpr double kLimit = 1 << 20;  // n has at most 20 bits
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHalfPi[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34, 0x1.3198a2e000000p-69,
                              0x1.b839a252049c1p-104};

// The coefficients of r^3, r^5, ... and of r^2, r^4, ...
constexpr double kSine[] = {-1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
                            -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
constexpr double kCosine[] = {-1.0 / 2,
                              1.0 / 24,
                              -1.0 / 720,
                              1.0 / 40320,
                              -1.0 / 3628800,
                              1.0 / 479001600,
                              -1.0 / 87178291200,
                              1.0 / 20922789888000,
                              -1.0 / 6402373705728000};

}  // namespace

llvm::Value* CodeGen::trigonometric(Value* x, DataType dtype, Angle function) {
  auto *fast = new_block("angle"), *slow = new_block("angle_slow"), *end = new_block("angle_end");
  Value* size = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* small = builder_.CreateFCmpOLT(size, llvm::ConstantFP::get(x->getType(), kLimit));
  if (dtype.is_vector()) small = builder_.CreateAndReduce(small);
  builder_.CreateCondBr(small, fast, slow, metadata_.createBranchWeights(1 << 20, 1));

  start_block(slow);
  static constexpr const char* names[] = {"sin", "cos", "tan"};
  Value* by_library = scalar_math_call(names[static_cast<int>(function)], dtype, {x}, {dtype});
  slow = builder_.GetInsertBlock();
  builder_.CreateBr(end);

  start_block(fast);
  Value* by_polynomial = small_angle(x, dtype, function);
  fast = builder_.GetInsertBlock();
  builder_.CreateBr(end);

  start_block(end);
  llvm::PHINode* out = builder_.CreatePHI(x->getType(), 2);
  out->addIncoming(by_library, slow);
  out->addIncoming(by_polynomial, fast);
  return out;
}

llvm::Value* CodeGen::small_angle(Value* x, DataType dtype, Angle function) {
  DataType wide = DataType::Float(64, dtype.lanes);
  auto real = [&](double value) { return llvm::ConstantFP::get(value_type(wide), value); };
  Value* wide_x = cast(x, dtype, wide);
  Value* n = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, builder_.CreateFMul(wide_x, real(kTwoOverPi)));
  Value* r = wide_x;
  for (double part : kHalfPi) r = builder_.CreateFSub(r, builder_.CreateFMul(n, real(part)));

  // float32 needs half as many terms.
  size_t terms = dtype.bits == 64 ? std::size(kSine) : 5;
  Value* square = builder_.CreateFMul(r, r);
  auto polynomial = [&](const double* coefficients, size_t count) {
    Value* sum = real(coefficients[count - 1]);
    for (size_t i = count - 1; i-- > 0;)
      sum = builder_.CreateFAdd(builder_.CreateFMul(sum, square), real(coefficients[i]));
    return builder_.CreateFMul(sum, square);
  };
  Value* sine = builder_.CreateFAdd(r, builder_.CreateFMul(r, polynomial(kSine, terms)));
  Value* cosine = builder_.CreateFAdd(real(1), polynomial(kCosine, terms + 1));

  DataType quadrant_type = DataType::Int(64, dtype.lanes);
  auto whole = [&](int64_t value) { return llvm::ConstantInt::get(value_type(quadrant_type), value); };
  Value* quadrant = builder_.CreateFPToSI(n, value_type(quadrant_type));
  if (function == Angle::Cosine) quadrant = builder_.CreateAdd(quadrant, whole(1));
  Value* is_odd = builder_.CreateICmpNE(builder_.CreateAnd(quadrant, whole(1)), whole(0));
  Value* chosen = builder_.CreateSelect(is_odd, cosine, sine);
  Value* is_negative = is_odd;
  if (function == Angle::Tangent) chosen = builder_.CreateFDiv(chosen, builder_.CreateSelect(is_odd, sine, cosine));
  else is_negative = builder_.CreateICmpNE(builder_.CreateAnd(quadrant, whole(2)), whole(0));
  chosen = builder_.CreateSelect(is_negative, builder_.CreateFNeg(chosen), chosen);
  if (function != Angle::Cosine)  // -0 stays
    chosen = builder_.CreateSelect(builder_.CreateFCmpOEQ(wide_x, real(0)), wide_x, chosen);
  return cast(chosen, wide, dtype);
}

}  // namespace tessera::codegen
