// What lowering relies on: guards that hold are proven and go away.

#include <gtest/gtest.h>

#include "random_expressions.h"

namespace tessera::arith {
namespace {

class Proofs : public testing::Test {
 protected:
  Var io = make_var("io"), ii = make_var("ii"), k = make_var("k"), n = make_size_var("n"), w = make_var("w");
  Analyzer analyzer;

  void range(const Var& var, PrimExpr extent) { analyzer.bind(var, make_range(0, extent)); }
  std::string simple(const PrimExpr& e) { return show(analyzer.simplify(e)); }
};

TEST_F(Proofs, ASplitThatDividesNeedsNoGuard) {
  range(io, 4);
  range(ii, 16);
  EXPECT_TRUE(analyzer.can_prove(io * 16 + ii < 64));
  EXPECT_FALSE(analyzer.can_prove(io * 16 + ii < 63));
  EXPECT_EQ(simple(likely(io * 16 + ii < 64)), "1");
}

TEST_F(Proofs, SplitThenFuseIsTheSameIndex) {
  range(io, 4);
  range(ii, 16);
  range(k, 32);
  EXPECT_EQ(simple(floordiv(io * 16 + ii, 16)), "io");
  EXPECT_EQ(simple(floormod(io * 16 + ii, 16)), "ii");
  EXPECT_EQ(simple(floormod((io * 8 + ii) * 32 + k, 32)), "k");
  EXPECT_EQ(simple(floordiv((io * 16 + ii) * 32 + k, 512)), "io");
  EXPECT_EQ(simple(floordiv(floormod((io * 16 + ii) * 32 + k, 512), 32)), "ii");
  EXPECT_EQ(simple(floordiv(w, 4) * 4 + floormod(w, 4)), "w");
  EXPECT_EQ(simple(floordiv(w, 12) * 12 + floormod(floordiv(w, 4), 3) * 4 + floormod(w, 4)), "w");
}

TEST_F(Proofs, RoundingUpAnUnknownSizeCoversIt) {
  EXPECT_TRUE(analyzer.can_prove(floordiv(n + 31, 32) * 32 >= n));
  EXPECT_TRUE(analyzer.can_prove(floordiv(n + 31, 32) * 32 < n + 32));
  EXPECT_TRUE(analyzer.can_prove(floordiv(n, 32) * 32 <= n));
  EXPECT_FALSE(analyzer.can_prove(floordiv(n + 30, 32) * 32 >= n));
}

TEST_F(Proofs, ATileInsideTheWholePartNeedsNoGuard) {
  range(io, floordiv(n, 32));
  range(ii, 32);
  EXPECT_TRUE(analyzer.can_prove(io * 32 + ii < n));
  EXPECT_FALSE(analyzer.can_prove(io * 32 + ii + 1 < n));
}

TEST_F(Proofs, ATileOfARoundedUpSizeNeedsItsGuard) {
  range(io, floordiv(n + 31, 32));
  range(ii, 32);
  EXPECT_FALSE(analyzer.can_prove(io * 32 + ii < n));
  EXPECT_TRUE(analyzer.can_prove(io * 32 < n));
}

TEST_F(Proofs, TheTailOfATileIsBounded) {
  range(io, floordiv(n + 31, 32));
  EXPECT_TRUE(analyzer.can_prove(min(n - io * 32, 32) <= 32));
  EXPECT_TRUE(analyzer.can_prove(min(n - io * 32, 32) >= 1));
}

TEST_F(Proofs, AConditionHoldsInItsScopeOnly) {
  PrimExpr inside = w + 1 <= n;
  {
    auto scope = analyzer.assume(w < n);
    EXPECT_TRUE(analyzer.can_prove(inside));
    EXPECT_TRUE(analyzer.can_prove(w + 2 <= n + 1));
    EXPECT_FALSE(analyzer.can_prove(w + 2 <= n));
  }
  EXPECT_FALSE(analyzer.can_prove(inside));
}

TEST_F(Proofs, AGuardBoundsItsVariables) {
  range(ii, 16);
  auto scope = analyzer.assume(make_node(Kind::And, io * 16 + ii < 50, io >= 0));
  IntBound bound = analyzer.const_int_bound(io);
  EXPECT_EQ(bound.min, 0);
  EXPECT_EQ(bound.max, 3);
}

TEST_F(Proofs, BindingTwiceToDifferentRangesIsRejected) {
  range(io, 4);
  range(io, 4);
  EXPECT_THROW(analyzer.bind(io, make_range(1, 4)), Error);
  analyzer.bind(io, make_range(1, 4), true);
  EXPECT_EQ(analyzer.const_int_bound(io).max, 4);
}

TEST_F(Proofs, NumbersAtTheEndsOfInt64DoNotOverflow) {
  Var a = make_var("a", DataType::Int(64)), b = make_var("b", DataType::Int(64));
  PrimExpr low = int_imm(DataType::Int(64), INT64_MIN), high = int_imm(DataType::Int(64), INT64_MAX);
  for (const PrimExpr& end : {low, high})
    for (int kind = static_cast<int>(Kind::Add); kind <= static_cast<int>(Kind::GE); ++kind)
      for (const PrimExpr& x : {PrimExpr(a), a + end, a * end, end - a, min(a, end)})
        for (const PrimExpr& y : {PrimExpr(b), end, b + end, make_const(DataType::Int(64), -1)}) {
          for (bool swap : {false, true}) {
            PrimExpr e = bare_node(static_cast<Kind>(kind), swap ? y : x, swap ? x : y);
            analyzer.simplify(e);
            analyzer.const_int_bound(e);
            analyzer.modular_set(e);
          }
        }
  analyzer.bind(a, make_range(low, high));
  auto scope = analyzer.assume(b < low + make_const(DataType::Int(64), 5));
  EXPECT_LE(analyzer.const_int_bound(b + high).min, 0);
}

TEST_F(Proofs, DeepExpressionsAreSimplified) {
  PrimExpr least = w, sum = n;
  for (int i = 0; i < 20000; ++i) {
    if (i < 500) least = bare_node(Kind::Min, least, make_var("x") + i);
    sum = bare_node(Kind::Add, sum, w);
  }
  EXPECT_EQ(simple(sum - w * 20000), "n");
  EXPECT_TRUE(analyzer.can_prove(least <= w));
}

}  // namespace
}  // namespace tessera::arith
