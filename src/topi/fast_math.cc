// Quick approximations of exp, tanh and erf.

#include "ir/prim/ops.h"
#include "topi/broadcast.h"
#include "topi/elementwise.h"

namespace tessera::topi {
namespace {

PrimExpr f32(double value) { return make_const(DataType::Float(32), value); }

/// c[0] x^n + c[1] x^(n-1) + ... + c[n], by Horner's rule.
PrimExpr polynomial(const PrimExpr& x, std::initializer_list<double> coefficients) {
  PrimExpr sum;
  for (double c : coefficients) sum = sum ? sum * x + f32(c) : f32(c);
  return sum;
}

bool is_float32(const te::Tensor& x) { return x->dtype == DataType::Float(32); }

/// exp(x) = 2^n * exp(f) with n = floor(x / ln 2 + 1/2) built from its exponent bits and f small (Cephes).
PrimExpr fast_exp_float32(const PrimExpr& x) {
  PrimExpr clipped = max(min(x, f32(88.3762626647950)), f32(-88.3762626647949));
  PrimExpr n = floor(clipped * f32(1.44269504088896341) + f32(0.5));
  PrimExpr f = clipped - n * f32(0.6931471805599453);
  PrimExpr y = polynomial(f, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
                              5.0000001201e-1}) *
                   f * f +
               f + f32(1.0);
  PrimExpr power =
      tessera::reinterpret(DataType::Float(32), tessera::cast(DataType::Int(32), n + f32(127.0)) << PrimExpr(23));
  return max(power * y, x);
}

/// A rational approximation on [-9, 9] (the one Eigen uses).
PrimExpr fast_tanh_float32(const PrimExpr& x) {
  PrimExpr x2 = x * x;
  PrimExpr p =
      x * polynomial(x2, {-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
                          1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03});
  PrimExpr q = polynomial(x2, {1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03});
  return div(p, q);
}

/// A rational approximation on [-4, 4] (the one Eigen uses).
PrimExpr fast_erf_float32(const PrimExpr& value) {
  PrimExpr x = max(min(value, f32(4.0)), f32(-4.0));
  PrimExpr x2 = x * x;
  PrimExpr p =
      x * polynomial(x2, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                          -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  PrimExpr q = polynomial(x2, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03,
                               -7.37332916720468e-03, -1.42647390514189e-02});
  return div(p, q);
}

te::Tensor exact(const te::Tensor& x, const char* intrinsic) {
  return elementwise(x, [=](PrimExpr e) { return unary_intrin(intrinsic, e); });
}

}  // namespace

te::Tensor fast_exp(const te::Tensor& x) {
  return is_float32(x) ? elementwise(x, fast_exp_float32, "T_fast_exp", "ax") : exact(x, "tir.exp");
}

te::Tensor fast_tanh(const te::Tensor& x) {
  if (!is_float32(x)) return exact(x, "tir.tanh");
  auto low = [](PrimExpr a, PrimExpr b) { return min(a, b); };
  auto high = [](PrimExpr a, PrimExpr b) { return max(a, b); };
  Operand upper = broadcast(f32(9.0), x, low, "T_minimum");
  Operand clipped = broadcast(f32(-9.0), upper, high, "T_maximum");
  return elementwise(std::get<te::Tensor>(clipped), fast_tanh_float32, "T_fast_tanh", "ax");
}

te::Tensor fast_erf(const te::Tensor& x) {
  return is_float32(x) ? elementwise(x, fast_erf_float32, "T_fast_erf", "ax") : exact(x, "tir.erf");
}

}  // namespace tessera::topi
