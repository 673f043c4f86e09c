// Every operator on every element type, scalar and vector, against C++.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "codegen/jit.h"
#include "ir/prim/match.h"

namespace tessera::test {
namespace {

using In = const std::vector<PrimExpr>&;

template <class T>
std::vector<T> interesting() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>)
    return {T(0), T(-0.0), T(1), T(-1.5), T(2.25), T(-7), T(1e10), Limits::max(), T(INFINITY), T(-INFINITY), T(NAN)};
  return {T(0), T(1), T(2), T(3), T(7), T(-1), T(-2), T(-7), Limits::min(), Limits::max(), T(Limits::max() - 1)};
}

/// All pairs, in a multiple of 8.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs() {
  std::pair<std::vector<T>, std::vector<T>> out;
  for (T a : interesting<T>())
    for (T b : interesting<T>()) out.first.push_back(a), out.second.push_back(b);
  while (out.first.size() % 8) out.first.push_back(1), out.second.push_back(1);
  return out;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return a == b;
}

template <class T, class R, class F, class G>
void check_pairs(const char* name, F build, G expected) {
  auto [a, b] = pairs<T>();
  using Slot = std::conditional_t<std::is_same_v<R, bool>, uint8_t, R>;
  std::vector<Slot> got =
      run<Slot>(dtype_of<R>(), {dtype_of<T>(), dtype_of<T>()}, [&](In in) { return build(in[0], in[1]); }, a, b);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same<R>(R(got[i]), expected(a[i], b[i])))
        << name << " of " << dtype_of<T>().str() << " " << +a[i] << " and " << +b[i] << " gives " << +got[i] << ", not "
        << +expected(a[i], b[i]);
}

template <class T>
using Wrapping = std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>;

/// Integer arithmetic that wraps.
template <class T, class F>
T wrap(F f, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return f(a, b);
  else return T(f(uint64_t(Wrapping<T>(a)), uint64_t(Wrapping<T>(b))));
}

template <class T>
struct Operators : testing::Test {};
using Types = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(Operators, Types);

TYPED_TEST(Operators, ArithmeticWraps) {
  using T = TypeParam;
  check_pairs<T, T>("Add", make_binary<Add>, [](T a, T b) { return wrap<T>(std::plus<>(), a, b); });
  check_pairs<T, T>("Sub", make_binary<Sub>, [](T a, T b) { return wrap<T>(std::minus<>(), a, b); });
  check_pairs<T, T>("Mul", make_binary<Mul>, [](T a, T b) { return wrap<T>(std::multiplies<>(), a, b); });
}

TYPED_TEST(Operators, MinAndMaxAreNanWhereOneIs) {
  using T = TypeParam;
  check_pairs<T, T>("Min", make_binary<Min>, [](T a, T b) { return a < b || a != a ? a : b; });
  check_pairs<T, T>("Max", make_binary<Max>, [](T a, T b) { return a > b || a != a ? a : b; });
}

TYPED_TEST(Operators, Comparisons) {
  using T = TypeParam;
  check_pairs<T, bool>("EQ", make_binary<EQ>, [](T a, T b) { return a == b; });
  check_pairs<T, bool>("NE", make_binary<NE>, [](T a, T b) { return a != b; });
  check_pairs<T, bool>("LT", make_binary<LT>, [](T a, T b) { return a < b; });
  check_pairs<T, bool>("LE", make_binary<LE>, [](T a, T b) { return a <= b; });
  check_pairs<T, bool>("GT", make_binary<GT>, [](T a, T b) { return a > b; });
  check_pairs<T, bool>("GE", make_binary<GE>, [](T a, T b) { return a >= b; });
}

TYPED_TEST(Operators, DivisionNeverTraps) {
  using T = TypeParam;
  if constexpr (std::is_floating_point_v<T>) {
    check_pairs<T, T>("Div", make_binary<Div>, [](T a, T b) { return a / b; });
    check_pairs<T, T>("Mod", make_binary<Mod>, [](T a, T b) { return std::fmod(a, b); });
    check_pairs<T, T>("FloorDiv", make_binary<FloorDiv>, [](T a, T b) { return std::floor(a / b); });
  } else {
    auto traps = [](T a, T b) {
      return b == 0 || (std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == T(-1));
    };
    auto quotient = [=](T a, T b) { return traps(a, b) ? a : T(a / b); };
    auto rest = [=](T a, T b) { return traps(a, b) ? T(0) : T(a % b); };
    auto floors_lower = [=](T a, T b) { return rest(a, b) != 0 && ((rest(a, b) < 0) != (b < 0)); };
    check_pairs<T, T>("Div", make_binary<Div>, quotient);
    check_pairs<T, T>("Mod", make_binary<Mod>, rest);
    check_pairs<T, T>("FloorDiv", make_binary<FloorDiv>,
                      [=](T a, T b) { return T(quotient(a, b) - floors_lower(a, b)); });
    check_pairs<T, T>("FloorMod", make_binary<FloorMod>,
                      [=](T a, T b) { return T(rest(a, b) + (floors_lower(a, b) ? b : 0)); });
  }
}

TYPED_TEST(Operators, Bits) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    auto call = [](const char* op) {
      return [op](PrimExpr a, PrimExpr b) { return make_call(a.dtype(), op, {a, b}); };
    };
    constexpr int mask = sizeof(T) * 8 - 1;
    check_pairs<T, T>("and", call("tir.bitwise_and"), [](T a, T b) { return T(a & b); });
    check_pairs<T, T>("or", call("tir.bitwise_or"), [](T a, T b) { return T(a | b); });
    check_pairs<T, T>("xor", call("tir.bitwise_xor"), [](T a, T b) { return T(a ^ b); });
    check_pairs<T, T>("left", call("tir.shift_left"), [](T a, T b) { return T(Wrapping<T>(a) << (b & mask)); });
    check_pairs<T, T>("right", call("tir.shift_right"), [](T a, T b) { return T(a >> (b & mask)); });
    check_pairs<T, T>(
        "not", [](PrimExpr a, PrimExpr) { return make_call(a.dtype(), "tir.bitwise_not", {a}); },
        [](T a, T) { return T(~a); });
    check_pairs<T, T>(
        "popcount", [](PrimExpr a, PrimExpr) { return make_call(a.dtype(), "tir.popcount", {a}); },
        [](T a, T) { return T(std::popcount(Wrapping<T>(a))); });
    check_pairs<T, T>(
        "clz", [](PrimExpr a, PrimExpr) { return make_call(a.dtype(), "tir.clz", {a}); },
        [](T a, T) { return T(std::countl_zero(Wrapping<T>(a))); });
  }
}

TYPED_TEST(Operators, SelectAndLogic) {
  using T = TypeParam;
  check_pairs<T, T>(
      "Select", [](PrimExpr a, PrimExpr b) { return make_select(make_binary<LT>(a, b), b, a); },
      [](T a, T b) { return a < b ? b : a; });
  check_pairs<T, bool>(
      "And",
      [](PrimExpr a, PrimExpr b) { return make_binary<And>(make_binary<LT>(a, b), make_not(make_binary<EQ>(a, b))); },
      [](T a, T b) { return a < b && !(a == b); });
  check_pairs<T, bool>(
      "Or", [](PrimExpr a, PrimExpr b) { return make_binary<Or>(make_binary<LT>(a, b), make_binary<EQ>(a, b)); },
      [](T a, T b) { return a < b || a == b; });
}

template <class To, class From>
void check_cast() {
  std::vector<From> in = interesting<From>();
  if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    in = {From(0), From(1.9), From(100.5), From(7), From(127), From(2.5), From(0.99), From(64.75)};
    if (std::is_signed_v<To>) in.push_back(From(-1.9));
  }
  while (in.size() % 8) in.push_back(1);
  auto got = run<To>(
      dtype_of<To>(), {dtype_of<From>()},
      [](In v) { return make_cast(dtype_of<To>().with_lanes(v[0].dtype().lanes), v[0]); }, in);
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_TRUE(same<To>(got[i], static_cast<To>(in[i])))
        << dtype_of<From>().str() << " " << +in[i] << " as " << dtype_of<To>().str() << " is " << +got[i];
}

TYPED_TEST(Operators, Casts) {
  using T = TypeParam;
  check_cast<int8_t, T>();
  check_cast<int16_t, T>();
  check_cast<int32_t, T>();
  check_cast<int64_t, T>();
  check_cast<uint8_t, T>();
  check_cast<uint16_t, T>();
  check_cast<uint32_t, T>();
  check_cast<uint64_t, T>();
  check_cast<float, T>();
  check_cast<double, T>();
}

TEST(Operators, AFloatOutsideOfAnIntegerTypeGivesWhatTheDefinitionSays) {
  std::vector<float> in = {1e20f, -1e20f, NAN, INFINITY, 300.f, -300.f, 3e9f, -1.f};
  for (DataType to : {DataType::Int(4), DataType::Int(8), DataType::UInt(8), DataType::Int(16), DataType::Int(32),
                      DataType::UInt(32), DataType::Int(64), DataType::UInt(64)})
    for (int lanes : {1, 2, 4, 8}) {
      Compiled code =
          elementwise(to, {DataType::Float(32)}, 8, lanes, [&](In v) { return make_cast(to.with_lanes(lanes), v[0]); });
      std::vector<uint8_t> out(64);
      EXPECT_EQ(code(in.data(), out.data()), 0);
      const size_t bytes = to.bytes();
      for (size_t i = 0; i < in.size(); ++i) {
        const uint64_t wanted = truncated_bits(in[i], to);
        uint64_t got = 0, unused = 64 - to.bits;
        std::memcpy(&got, out.data() + i * bytes, bytes);
        EXPECT_EQ(got << unused, wanted << unused) << in[i] << " as " << to.str() << " in " << lanes << " lanes";
      }
    }
}

TEST(Operators, BoolsAreBytesInMemoryAndAnyByteButZeroIsTrue) {
  std::vector<uint8_t> in = {0, 1, 2, 255, 0, 128, 1, 0};
  auto got = run<int32_t>(
      DataType::Int(32), {DataType::Bool()},
      [](In v) { return make_cast(DataType::Int(32, v[0].dtype().lanes), v[0]); }, in);
  EXPECT_EQ(got, (std::vector<int32_t>{0, 1, 1, 1, 0, 1, 1, 0}));
  auto negated = run<uint8_t>(DataType::Bool(), {DataType::Bool()}, [](In v) { return make_not(v[0]); }, in);
  EXPECT_EQ(negated, (std::vector<uint8_t>{1, 0, 0, 0, 1, 0, 0, 1}));
  std::vector<float> floats = {0.f, -0.f, 1.f, NAN, 1e-40f, -2.f, INFINITY, 0.f};
  auto from_float = run<uint8_t>(
      DataType::Bool(), {DataType::Float(32)}, [](In v) { return make_cast(DataType::Bool(v[0].dtype().lanes), v[0]); },
      floats);
  EXPECT_EQ(from_float, (std::vector<uint8_t>{0, 0, 1, 1, 1, 1, 1, 0}));
}

TEST(Operators, SubByteIntegersTakeAByteAndKeepTheirSign) {
  std::vector<int8_t> in = {0, 7, -8, -1, 3, -3, 5, 6};
  auto doubled =
      run<int8_t>(DataType::Int(4), {DataType::Int(4)}, [](In v) { return make_binary<Add>(v[0], v[0]); }, in);
  EXPECT_EQ(doubled, (std::vector<int8_t>{0, -2, 0, -2, 6, -6, -6, -4}));
  auto wide = run<int32_t>(
      DataType::Int(32), {DataType::UInt(4)},
      [](In v) { return make_cast(DataType::Int(32, v[0].dtype().lanes), v[0]); }, in);
  EXPECT_EQ(wide, (std::vector<int32_t>{0, 7, 8, 15, 3, 13, 5, 6}));
}

/// To the nearest float16, ties to even, by the definition.
float nearest_half(double x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return float(x);
  int exponent = std::max(std::ilogb(x), -14);
  double step = std::ldexp(1, exponent - 10);
  double rounded = std::nearbyint(x / step) * step;
  return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, x) : float(rounded);
}

TEST(Operators, Float16RoundsToNearestEvenFromEveryType) {
  std::vector<double> in;
  for (double x : {1.0, 1.5, 1.0 / 3, 65504.0, 65519.0, 65520.0, 6e-8, 2.9e-8, 1e-5, 2049.0, 2051.0, 3.14159})
    for (double nudge : {0.0, 1e-16, -1e-16, 1e-9, 4.8828125e-4, 4.8828125e-4 + 1e-13})
      for (double sign : {1.0, -1.0}) in.push_back(sign * x * (1 + nudge));
  while (in.size() % 8) in.push_back(0);
  auto through = [](DataType from) {
    return [from](In v) {
      int lanes = v[0].dtype().lanes;
      return make_cast(DataType::Float(32, lanes), make_cast(DataType::Float(16, lanes), v[0]));
    };
  };
  auto got = run<float>(DataType::Float(32), {DataType::Float(64)}, through(DataType::Float(64)), in);
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(got[i], nearest_half(in[i])) << in[i];
  std::vector<float> singles(in.begin(), in.end());
  got = run<float>(DataType::Float(32), {DataType::Float(32)}, through(DataType::Float(32)), singles);
  for (size_t i = 0; i < in.size(); ++i) EXPECT_EQ(got[i], nearest_half(singles[i])) << singles[i];
  std::vector<int64_t> whole = {2049, 2051, -2049, 65519, 65520, 100000, 1, int64_t(1) << 40};
  got = run<float>(DataType::Float(32), {DataType::Int(64)}, through(DataType::Int(64)), whole);
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(got[i], nearest_half(double(whole[i]))) << whole[i];
}

TEST(Operators, Float16AndBFloat16Arithmetic) {
  for (DataType dtype : {DataType::Float(16), DataType::BFloat(16)}) {
    std::vector<float> a = {1, 2.5f, -3, 0.1f, 1000, 7, 0.333f, -1}, b = {3, 0.1f, 5, 0.2f, 3, -2, 0.5f, -1};
    auto narrow = [&](PrimExpr x) { return make_cast(dtype.with_lanes(x.dtype().lanes), x); };
    auto wide = [&](PrimExpr x) { return make_cast(DataType::Float(32, x.dtype().lanes), x); };
    auto round = [&](float x) {
      if (!dtype.is_bfloat()) return nearest_half(x);
      uint32_t bits = std::bit_cast<uint32_t>(x);
      return std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000);
    };
    auto got = run<float>(
        DataType::Float(32), {DataType::Float(32), DataType::Float(32)},
        [&](In v) { return wide(make_binary<Add>(make_binary<Mul>(narrow(v[0]), narrow(v[1])), narrow(v[0]))); }, a, b);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(got[i], round(round(round(a[i]) * round(b[i])) + round(a[i]))) << dtype.str() << " " << i;
    std::vector<float> nan = {NAN, INFINITY, -INFINITY, 3.4e38f, -0.f, 1e-45f, 1, 2};
    auto special =
        run<float>(DataType::Float(32), {DataType::Float(32)}, [&](In v) { return wide(narrow(v[0])); }, nan);
    EXPECT_TRUE(std::isnan(special[0]));
    EXPECT_EQ(special[1], INFINITY);
    EXPECT_EQ(special[2], -INFINITY);
    EXPECT_EQ(special[3], INFINITY);
    EXPECT_TRUE(special[4] == 0 && std::signbit(special[4]));
  }
}

}  // namespace
}  // namespace tessera::test
