// Integer sets and what is built on them, checked on numbers.

#include <gtest/gtest.h>

#include "arith/int_set.h"
#include "arith/linear.h"
#include "arith/region_bound.h"
#include "ir/rewrite.h"
#include "random_expressions.h"

namespace tessera::arith {
namespace {

bool holds(const IntSet& set, int64_t value, const Point& at) {
  auto low = set.has_lower_bound() ? value_at(set.min(), at) : std::optional<int64_t>(INT64_MIN);
  auto high = set.has_upper_bound() ? value_at(set.max(), at) : std::optional<int64_t>(INT64_MAX);
  if (set.is_nothing()) return false;
  return low && high && *low <= value && value <= *high;
}

std::string text(const IntSet& set) { return "[" + show(set.min()) + ", " + show(set.max()) + "]"; }

class Sets : public testing::TestWithParam<int> {
 protected:
  Sets() : make(static_cast<uint32_t>(GetParam() + 1000)) {}
  RandomExpressions make;
};

TEST_P(Sets, EverySetHoldsTheValuesOfItsExpression) {
  SetOfVar domains;
  for (int i = 0; i < 3; ++i)
    domains.set(make.vars()[i], IntSet::interval(i == 2 ? -4 : 0, i == 0 ? 15 : i == 1 ? 3 : 4));
  Analyzer analyzer;
  make.bind(&analyzer);
  for (int i = 0; i < 150; ++i) {
    PrimExpr e = make.number(1 + i % 3);
    IntSet set = eval_set(e, domains, &analyzer);
    for (int k = 0; k < 60; ++k) {
      Point at = make.point();
      auto value = value_at(e, at);
      if (!value) continue;
      ASSERT_TRUE(holds(set, *value, at))
          << show(e) << " is " << *value << ", not in " << text(set) << " at " << show(at);
    }
  }
}

TEST_P(Sets, ADeducedBoundIsSafeAndTight) {
  int told = 0;
  for (int i = 0; i < 200; ++i) {
    const Var &a = make.vars()[0], &b = make.vars()[1], &c = make.vars()[2];
    int p = make.below(9) - 4, q = make.below(7) - 3, r = make.below(40) - 10;
    PrimExpr left = PrimExpr(a) * p + PrimExpr(b) * q + c;
    PrimExpr condition = i % 4 == 0 ? left < r : i % 4 == 1 ? left <= r : i % 4 == 2 ? left > r : left >= r;
    SetOfVar relaxed{{b, IntSet::interval(0, 3)}};
    IntSet set = deduce_bound(a, condition, {{c, IntSet::interval(-4, 4)}}, relaxed);
    if (set.is_nothing()) continue;
    ++told;
    for (int64_t cv = -4; cv <= 4; ++cv)
      for (int64_t av = -30; av <= 30; ++av) {
        bool always = true;
        Point at{{a.get(), av}, {c.get(), cv}};
        for (int64_t bv = 0; bv <= 3; ++bv) {
          at[b.get()] = bv;
          always = always && *value_at(condition, at);
        }
        at[b.get()] = 0;
        ASSERT_EQ(holds(set, av, at), always) << show(condition) << " for " << av << ", c=" << cv << ": " << text(set);
      }
  }
  EXPECT_GT(told, 100);
}

TEST_P(Sets, ALinearFormAddsUpToItsExpression) {
  Array<Var> vars{make.vars()[0], make.vars()[1]};
  int linear = 0;
  for (int i = 0; i < 100; ++i) {
    PrimExpr e = make.number(2);
    Array<PrimExpr> form = detect_linear_equation(e, vars);
    if (form.empty()) continue;
    ++linear;
    PrimExpr sum = form[0] * vars[0] + form[1] * vars[1] + form[2];
    for (int k = 0; k < 20; ++k) {
      Point at = make.point();
      auto value = value_at(e, at);
      if (!value) continue;
      ASSERT_EQ(value_at(sum, at), value) << show(e) << " as " << show(sum);
    }
  }
  EXPECT_GT(linear, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Sets, testing::Range(1, 6));

TEST(Set, UnionAndIntersectionOfSymbolicEnds) {
  Var n = make_var("n");
  IntSet a = IntSet::interval(0, n), b = IntSet::interval(2, n + 3);
  EXPECT_EQ(text(union_sets({a, b})), "[0, (n + 3)]");
  EXPECT_EQ(text(intersect_sets({a, b})), "[2, n]");
  EXPECT_TRUE(intersect_sets({IntSet::interval(0, 3), IntSet::interval(5, 9)}).is_nothing());
  EXPECT_TRUE(union_sets({}).is_nothing());
  EXPECT_EQ(text(union_lower_bound({IntSet::interval(0, 3), IntSet::interval(4, 9)})), "[0, 9]");
  EXPECT_EQ(text(union_lower_bound({IntSet::interval(0, 3), IntSet::interval(6, 9)})), "[0, 3]");
}

TEST(Set, ARegionThatLeavesHolesHasNoStrictBound) {
  Var i = make_var("i"), j = make_var("j");
  Analyzer analyzer;
  Map<Var, Range> loops{{i, make_range(0, 8)}, {j, make_range(0, 5)}};
  analyzer.bind(loops);
  auto tiles = estimate_region_strict_bound({make_range(i * 4, 4), make_range(j, 1)}, loops, bool_imm(true), &analyzer);
  ASSERT_TRUE(tiles.defined());
  EXPECT_EQ(text(tiles[0]), "[0, 31]");
  EXPECT_EQ(text(tiles[1]), "[0, 4]");
  auto holes = estimate_region_strict_bound({make_range(i * 4, 3)}, loops, bool_imm(true), &analyzer);
  EXPECT_FALSE(holes.defined());
  auto around = estimate_region_upper_bound({make_range(i * 4, 3)}, loops, bool_imm(true), &analyzer);
  EXPECT_EQ(text(around[0]), "[0, 30]");
}

}  // namespace
}  // namespace tessera::arith
