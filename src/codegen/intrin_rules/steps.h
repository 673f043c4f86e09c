#pragma once
// Writing a real function as an expression: every intermediate value is named once, so that the expression grows with
// the number of steps and not with the number of uses.

#include <span>

#include "ir/prim/ops.h"

namespace tessera::codegen {

/// The floating-point type a function is computed in (float32 or float64, any lanes), and what follows from it.
struct RealType {
  DataType dtype;
  bool is_double() const { return dtype.bits == 64; }
  DataType integer() const { return DataType::Int(dtype.bits, dtype.lanes); }
  int mantissa_bits() const { return is_double() ? 52 : 23; }
  int64_t exponent_bias() const { return is_double() ? 1023 : 127; }
  /// One of two constants, by precision.
  template <class T>
  T either(T of_float, T of_double) const {
    return is_double() ? of_double : of_float;
  }
  PrimExpr operator()(double value) const { return make_const(dtype, value); }
  PrimExpr bits(int64_t value) const { return make_const(integer(), value); }
  PrimExpr inf() const { return reinterpret(dtype, bits(either<int64_t>(0x7f800000, 0x7ff0000000000000))); }
  PrimExpr nan() const { return reinterpret(dtype, bits(either<int64_t>(0x7fc00000, 0x7ff8000000000000))); }
};

class Steps {
 public:
  /// `value` under a name of its own.
  PrimExpr operator()(PrimExpr value) {
    if (value.as<VarNode>() || is_const(value)) return value;
    Var var = make_var("r", value.dtype());
    bound_.emplace_back(var, std::move(value));
    return var;
  }
  /// `result`, in which all steps so far may be used.
  PrimExpr finish(PrimExpr result) const {
    for (auto it = bound_.rbegin(); it != bound_.rend(); ++it) result = make_let(it->first, it->second, result);
    return result;
  }

 private:
  std::vector<std::pair<Var, PrimExpr>> bound_;
};

/// Coefficients from the constant term up, by Horner's rule. `x` must be a name.
inline PrimExpr polynomial(const PrimExpr& x, const RealType& real, std::span<const double> coefficients) {
  PrimExpr out = real(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) out = out * x + real(coefficients[i]);
  return out;
}

/// `size` with the sign of `x`: the second half of an odd function. A NaN stays one.
inline PrimExpr with_sign_of(const RealType& real, const PrimExpr& x, const PrimExpr& size) {
  PrimExpr sign = reinterpret(real.integer(), x) & real.bits(real.either<int64_t>(INT32_MIN, INT64_MIN));
  return reinterpret(real.dtype, reinterpret(real.integer(), size) | sign);
}

// The functions; `x` is a name or a constant of type `real`.
/// e^x / 2^halvings, where e^x alone may be too large for the type.
PrimExpr exp_of(Steps& steps, const RealType& real, const PrimExpr& x, int halvings = 0);
/// e^x of x <= 0, which needs no upper bound.
PrimExpr decay_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr exp2_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr exp10_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr log_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr log2_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr log10_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr log1p_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr pow_of(Steps& steps, const RealType& real, const PrimExpr& x, const PrimExpr& y);  // float32
/// x P(x^2) / Q(x^2) for an odd function that is 1 from `last` on, as near as the type can tell.
struct Ratio {
  std::span<const double> top, bottom;
  double last;
};
PrimExpr ratio_of(Steps& steps, const RealType& real, const PrimExpr& x, const Ratio& ratio);
PrimExpr erf_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr tanh_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr sinh_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr cosh_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr asinh_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr acosh_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr atanh_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr asin_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr acos_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr atan_of(Steps& steps, const RealType& real, const PrimExpr& x);
PrimExpr atan2_of(Steps& steps, const RealType& real, const PrimExpr& y, const PrimExpr& x);

}  // namespace tessera::codegen
