// Real functions as the llvm target computes them, against the C library in a wider type.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codegen/jit.h"

namespace tessera::test {
namespace {

/// The call as LowerIntrin leaves it.
PrimExpr lowered(const char* op, std::vector<PrimExpr> args) {
  PrimExpr call = make_call(args[0].dtype(), op, args);
  Any rule = Op::get(op).slot("llvm.FLowerIntrinsic");
  return rule.is_null() ? call : rule.to<PackedFunc>()(call).to<PrimExpr>();
}

/// How far `got` is from `exact`, counted in the spacing of T around `exact`.
template <class T, class Wide>
double ulps(T got, Wide exact) {
  T rounded = static_cast<T>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (got == rounded) return 0;
  if (std::isinf(rounded) || std::isinf(got)) {
    // one step from overflow is one unit
    T largest = std::copysign(std::numeric_limits<T>::max(), static_cast<T>(exact));
    return got == largest || (std::isinf(got) && rounded == largest) ? 1 : INFINITY;
  }
  Wide spacing = std::max<Wide>(std::nextafter(std::fabs(rounded), T(INFINITY)) - std::fabs(rounded),
                                std::numeric_limits<T>::denorm_min());
  return static_cast<double>(std::fabs(static_cast<Wide>(got) - exact) / spacing);
}

template <class T>
std::vector<T> sweep(size_t n) {
  std::vector<T> out;
  if constexpr (sizeof(T) == 4) {  // all signs and exponents, NaNs, infinities and denormals
    for (size_t i = 0; out.size() < n / 2; ++i) out.push_back(std::bit_cast<float>(static_cast<uint32_t>(i * 8191)));
  } else {
    for (size_t i = 0; out.size() < n / 2; ++i)
      out.push_back(std::bit_cast<double>(static_cast<uint64_t>(i) * (UINT64_MAX / (n / 2)) + i * 1234567));
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<T> near(-3, 3), far(-110, 110);
  while (out.size() < n - 16) {
    out.push_back(near(random));
    out.push_back(far(random));
  }
  const T inf = INFINITY, least = std::numeric_limits<T>::denorm_min(), tiny = std::numeric_limits<T>::min();
  for (T x : {T(0), T(1), inf, T(NAN), least, tiny, std::numeric_limits<T>::max(), T(0.5)})
    for (T s : {T(1), T(-1)}) out.push_back(s * x);
  return out;
}

constexpr size_t kPoints = 1 << 18;

template <class T, class Wide>
void check_unary(const char* op, Wide (*exact)(Wide), double bound) {
  std::vector<T> x = sweep<T>(kPoints), y(x.size());
  DataType dtype = dtype_of<T>();
  Compiled code = elementwise(dtype, {dtype}, static_cast<int>(x.size()), 16,
                              [&](const std::vector<PrimExpr>& in) { return lowered(op, {in[0]}); });
  ASSERT_EQ(code(x.data(), y.data()), 0);
  double worst = 0;
  T at = 0, got = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulps<T, Wide>(y[i], exact(x[i]));
    if (error > worst) worst = error, at = x[i], got = y[i];
  }
  std::printf("  %-11s float%zu: %.2f ulp (at %.17g)\n", op, sizeof(T) * 8, worst, double(at));
  EXPECT_LE(worst, bound) << op << " at " << double(at) << " gives " << double(got) << ", not " << double(exact(at));
}

template <class Wide>
Wide sigmoid(Wide x) {
  return 1 / (1 + std::exp(-x));
}

template <class Wide>
Wide reciprocal_root(Wide x) {
  return 1 / std::sqrt(x);
}

TEST(Math, Float32FunctionsAreWithinAFewUnits) {
  check_unary<float, double>("tir.exp", std::exp, 1.5);
  check_unary<float, double>("tir.exp2", std::exp2, 1.5);
  check_unary<float, double>("tir.exp10", exp10, 1.5);
  check_unary<float, double>("tir.log", std::log, 1.5);
  check_unary<float, double>("tir.log2", std::log2, 2);
  check_unary<float, double>("tir.log10", std::log10, 2);
  check_unary<float, double>("tir.log1p", std::log1p, 3);
  check_unary<float, double>("tir.tanh", std::tanh, 4.5);
  check_unary<float, double>("tir.sigmoid", sigmoid, 2.5);
  check_unary<float, double>("tir.erf", std::erf, 5);
  check_unary<float, double>("tir.sin", std::sin, 1.5);
  check_unary<float, double>("tir.cos", std::cos, 1.5);
  check_unary<float, double>("tir.tan", std::tan, 1.5);
  check_unary<float, double>("tir.sinh", std::sinh, 2.5);
  check_unary<float, double>("tir.cosh", std::cosh, 2.5);
  check_unary<float, double>("tir.asin", std::asin, 2.5);
  check_unary<float, double>("tir.acos", std::acos, 2.5);
  check_unary<float, double>("tir.atan", std::atan, 2.5);
  check_unary<float, double>("tir.asinh", std::asinh, 4);
  check_unary<float, double>("tir.acosh", std::acosh, 4);
  check_unary<float, double>("tir.atanh", std::atanh, 4);
  check_unary<float, double>("tir.rsqrt", reciprocal_root, 1.5);
}

TEST(Math, Float64FunctionsAreWithinAFewUnits) {
  check_unary<double, long double>("tir.exp", std::exp, 1.5);
  check_unary<double, long double>("tir.exp2", std::exp2, 1.5);
  check_unary<double, long double>("tir.exp10", exp10l, 2);
  check_unary<double, long double>("tir.log", std::log, 1.5);
  check_unary<double, long double>("tir.log2", std::log2, 3);
  check_unary<double, long double>("tir.log10", std::log10, 3);
  check_unary<double, long double>("tir.log1p", std::log1p, 3);
  check_unary<double, long double>("tir.tanh", std::tanh, 2);
  check_unary<double, long double>("tir.sigmoid", sigmoid, 2.5);
  check_unary<double, long double>("tir.erf", std::erf, 1.5);
  check_unary<double, long double>("tir.sin", std::sin, 1.5);
  check_unary<double, long double>("tir.cos", std::cos, 1.5);
  check_unary<double, long double>("tir.tan", std::tan, 3.5);
  check_unary<double, long double>("tir.sinh", std::sinh, 2.5);
  check_unary<double, long double>("tir.cosh", std::cosh, 2.5);
  check_unary<double, long double>("tir.asin", std::asin, 2.5);
  check_unary<double, long double>("tir.acos", std::acos, 2.5);
  check_unary<double, long double>("tir.atan", std::atan, 2.5);
  check_unary<double, long double>("tir.asinh", std::asinh, 4);
  check_unary<double, long double>("tir.acosh", std::acosh, 4);
  check_unary<double, long double>("tir.atanh", std::atanh, 4);
  check_unary<double, long double>("tir.rsqrt", reciprocal_root, 1.5);
}

TEST(Math, ZerosKeepTheirSign) {
  for (const char* op : {"tir.sin", "tir.tan", "tir.sinh", "tir.tanh", "tir.asin", "tir.atan", "tir.asinh", "tir.atanh",
                         "tir.erf", "tir.log1p", "tir.sqrt"})
    for (DataType dtype : {DataType::Float(32), DataType::Float(64)}) {
      Compiled code =
          elementwise(dtype, {dtype}, 8, 8, [&](const std::vector<PrimExpr>& in) { return lowered(op, {in[0]}); });
      double wide[8], wide_out[8];
      float narrow[8], narrow_out[8];
      for (int i = 0; i < 8; ++i) wide[i] = i % 2 ? -0.0 : 0.0, narrow[i] = i % 2 ? -0.0f : 0.0f;
      bool is_wide = dtype.bits == 64;
      ASSERT_EQ(is_wide ? code(wide, wide_out) : code(narrow, narrow_out), 0);
      for (int i = 0; i < 8; ++i) {
        double got = is_wide ? wide_out[i] : narrow_out[i];
        EXPECT_TRUE(got == 0 && std::signbit(got) == (i % 2 == 1)) << op << " of " << wide[i] << " gives " << got;
      }
    }
}

TEST(Math, FunctionsWorkOnAllLanesAtOnce) {
  for (const char* op : {"exp",  "exp2", "exp10", "log",  "log2", "log10", "log1p", "tanh",  "sigmoid", "erf",
                         "sinh", "cosh", "asin",  "acos", "atan", "asinh", "acosh", "atanh", "pow",     "atan2"})
    for (DataType dtype : {DataType::Float(32), DataType::Float(64)}) {
      bool is_binary = std::string(op) == "pow" || std::string(op) == "atan2";
      std::vector<DataType> inputs(is_binary ? 2 : 1, dtype);
      std::string full = std::string("tir.") + op;
      Compiled code =
          elementwise(dtype, inputs, 8, 8, [&](const std::vector<PrimExpr>& in) { return lowered(full.c_str(), in); });
      std::string source = code.module->get_source("ll");
      std::string library = std::string("@") + op + (dtype.bits == 32 ? "f(" : "(");
      EXPECT_EQ(source.find(library), std::string::npos)
          << full << " of " << dtype.str() << " is a call of the C library";
    }
}

/// Angles of every quadrant, and the numbers next to multiples of pi/2, where sin or cos nearly vanish.
template <class T>
std::vector<T> angles() {
  std::vector<T> out;
  for (size_t i = 0; i < kPoints / 2; ++i) out.push_back(static_cast<T>((double(i) - double(kPoints) / 4) * 0.7310585));
  for (size_t i = 0; i < kPoints / 2; ++i) out.push_back(static_cast<T>((double(i) - 1000) * 1.57079632679489661923));
  out[0] = T(-0.0);
  return out;
}

template <class T, class Wide>
void check_angles(const char* op, Wide (*exact)(Wide), double bound) {
  std::vector<T> x = angles<T>(), y(x.size());
  DataType dtype = dtype_of<T>();
  Compiled code = elementwise(dtype, {dtype}, static_cast<int>(x.size()), 16,
                              [&](const std::vector<PrimExpr>& in) { return lowered(op, {in[0]}); });
  ASSERT_EQ(code(x.data(), y.data()), 0);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps<T, Wide>(y[i], exact(x[i])));
  std::printf("  %-11s float%zu: %.2f ulp on angles\n", op, sizeof(T) * 8, worst);
  EXPECT_LE(worst, bound) << op;
  if (std::string(op) == "tir.sin") {
    EXPECT_TRUE(std::signbit(y[0])) << "sin(-0) is -0";
  }
}

TEST(Math, SinesOfAnglesAreExactNearTheirZerosToo) {
  check_angles<float, double>("tir.sin", std::sin, 0.6);
  check_angles<float, double>("tir.cos", std::cos, 0.6);
  check_angles<double, long double>("tir.sin", std::sin, 2.5);
  check_angles<double, long double>("tir.cos", std::cos, 2.5);
  check_angles<float, double>("tir.tan", std::tan, 0.6);
  check_angles<double, long double>("tir.tan", std::tan, 3.5);
}

TEST(Math, RoundingIsExact) {
  check_unary<float, double>("tir.sqrt", std::sqrt, 0.51);
  check_unary<float, double>("tir.floor", std::floor, 0);
  check_unary<float, double>("tir.ceil", std::ceil, 0);
  check_unary<float, double>("tir.trunc", std::trunc, 0);
  check_unary<float, double>("tir.round", std::round, 0);
  check_unary<float, double>("tir.nearbyint", std::nearbyint, 0);
  check_unary<float, double>("tir.fabs", std::fabs, 0);
}

template <class T, class Wide>
void check_binary(const char* op, Wide (*exact)(Wide, Wide), double bound, const std::vector<T>& bases,
                  const std::vector<T>& exponents) {
  std::vector<T> x, y;
  for (T a : bases)
    for (T b : exponents) x.push_back(a), y.push_back(b);
  while (x.size() % 16) x.push_back(1), y.push_back(1);
  std::vector<T> z(x.size());
  DataType dtype = dtype_of<T>();
  Compiled code = elementwise(dtype, {dtype, dtype}, static_cast<int>(x.size()), 16,
                              [&](const std::vector<PrimExpr>& in) { return lowered(op, {in[0], in[1]}); });
  ASSERT_EQ(code(x.data(), y.data(), z.data()), 0);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulps<T, Wide>(z[i], exact(x[i], y[i]));
    if (error > worst) worst = error, at = i;
  }
  std::printf("  %-11s float%zu: %.2f ulp\n", op, sizeof(T) * 8, worst);
  EXPECT_LE(worst, bound) << op << " of " << double(x[at]) << " and " << double(y[at]) << " gives " << double(z[at])
                          << ", not " << double(exact(x[at], y[at]));
}

TEST(Math, FunctionsOfTwoArguments) {
  std::vector<float> edges = sweep<float>(1 << 10), few;
  for (float x :
       {0.f, 1.f, 2.f, 3.f, 0.5f, 1.5f, 2.5f, 7.f, 8.f, 1e10f, 16777217.f, 1e-3f, 100.f, INFINITY, NAN, 1e-40f})
    few.push_back(x), few.push_back(-x);
  check_binary<float, double>("tir.pow", std::pow, 1, edges, few);
  check_binary<float, double>("tir.pow", std::pow, 1, few, edges);
  check_binary<float, double>("tir.atan2", std::atan2, 3, edges, few);
  check_binary<float, double>("tir.atan2", std::atan2, 3, few, edges);
  check_binary<float, double>("tir.hypot", std::hypot, 2, edges, few);
  check_binary<float, double>("tir.fmod", std::fmod, 0, edges, few);
  check_binary<float, double>("tir.copysign", std::copysign, 0, few, edges);
}

TEST(Math, FunctionsOfTwoFloat64Arguments) {
  std::vector<double> edges = sweep<double>(1 << 11), few;
  for (double x : {0.0,
                   1.0,
                   2.0,
                   3.0,
                   0.5,
                   1.5,
                   2.5,
                   7.0,
                   8.0,
                   1e10,
                   4503599627370497.0,
                   9007199254740993.0,
                   1e-3,
                   100.0,
                   1e300,
                   1e-300,
                   double(INFINITY),
                   double(NAN),
                   1e-310,
                   0.7071067811865476,
                   1.4142135623730951})
    few.push_back(x), few.push_back(-x);
  check_binary<double, long double>("tir.pow", std::pow, 1, edges, few);
  check_binary<double, long double>("tir.pow", std::pow, 1, few, edges);
  check_binary<double, long double>("tir.atan2", std::atan2, 3, edges, few);
  check_binary<double, long double>("tir.atan2", std::atan2, 3, few, edges);
  // bases near 1 and large exponents: answers from the smallest to the largest number
  std::vector<double> near_one, large;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> bases(0.5, 2), logs(-700, 700);
  for (int i = 0; i < 400; ++i) near_one.push_back(bases(random)), large.push_back(logs(random));
  check_binary<double, long double>("tir.pow", std::pow, 1, near_one, large);
  for (double& x : near_one) x = 1 + (x - 1) * 1e-6;
  for (double& y : large) y *= 1e6;
  check_binary<double, long double>("tir.pow", std::pow, 1, near_one, large);
}

TEST(Math, SmallWholePowersAreProducts) {
  for (int power : {1, 2, 3, 4}) {
    Compiled code = elementwise(DataType::Float(64), {DataType::Float(64)}, 8, 8, [&](const std::vector<PrimExpr>& in) {
      return lowered("tir.pow", {in[0], make_const(in[0].dtype(), double(power))});
    });
    std::vector<double> x = {-2, 0.5, 3, 1e200, -1e-200, INFINITY, 0, 1}, y(8);
    ASSERT_EQ(code(x.data(), y.data()), 0);
    for (int i = 0; i < 8; ++i) EXPECT_LE((ulps<double, long double>(y[i], std::pow((long double)x[i], power))), 1.5);
    EXPECT_EQ(code.module->get_source("ll").find("@pow"), std::string::npos);
  }
}

TEST(Math, HalfPrecisionGoesThroughFloat32) {
  for (DataType dtype : {DataType::Float(16), DataType::BFloat(16)}) {
    std::vector<uint16_t> x(1 << 16), y(x.size());
    std::vector<float> wide_in(x.size()), wide_out(x.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
    Compiled code = elementwise(dtype, {dtype}, static_cast<int>(x.size()), 16,
                                [&](const std::vector<PrimExpr>& in) { return lowered("tir.exp", {in[0]}); });
    ASSERT_EQ(code(x.data(), y.data()), 0);
    Compiled widen = elementwise(DataType::Float(32), {dtype}, static_cast<int>(x.size()), 16,
                                 [&](const std::vector<PrimExpr>& in) { return cast(DataType::Float(32, 16), in[0]); });
    ASSERT_EQ(widen(x.data(), wide_in.data()), 0);
    ASSERT_EQ(widen(y.data(), wide_out.data()), 0);
    double relative = dtype.is_bfloat() ? 1.0 / 256 : 1.0 / 2048;
    double overflow = dtype.is_bfloat() ? 3.39e38 : 65520;
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = std::exp(double(wide_in[i]));
      if (std::isnan(exact)) {
        EXPECT_TRUE(std::isnan(wide_out[i]));
      } else if (exact >= overflow) {
        EXPECT_TRUE(std::isinf(wide_out[i])) << dtype.str() << " exp(" << wide_in[i] << ")";
      } else {
        // the instructions of x86 that round to bfloat16 give 0 for what is denormal
        double denormals = dtype.is_bfloat() ? std::numeric_limits<float>::min() : 6e-8;
        EXPECT_NEAR(wide_out[i], exact, exact * relative * 1.01 + denormals)
            << dtype.str() << " exp(" << wide_in[i] << ")";
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
