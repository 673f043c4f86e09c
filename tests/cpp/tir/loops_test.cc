// The loop algebra against brute force over small numbers.

#include <gtest/gtest.h>

#include <random>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/loop_map.h"

namespace tessera::loops {
namespace {

int64_t value_of(const PrimExpr& e) {
  arith::Analyzer analyzer;
  PrimExpr simple = analyzer.simplify(e);
  const int64_t* value = as_int(simple);
  EXPECT_TRUE(value) << to_text(simple);
  return value ? *value : 0;
}

PrimExpr with_values(const PrimExpr& e, const Map<Var, PrimExpr>& values) { return substitute(e, values); }

TEST(Loops, SplitReachesEveryIndexOnceAndIsExactOnlyWhenItDivides) {
  for (int extent = 1; extent <= 9; ++extent)
    for (int length = 1; length <= 10; ++length)
      for (bool by_factor : {true, false}) {
        arith::Analyzer analyzer;
        Range parent = make_range(3, extent);
        LoopMap map = LoopMap::split(by_factor ? PrimExpr(length) : PrimExpr(), PrimExpr(length));
        EXPECT_EQ(map.stated_loop(), by_factor ? 1u : 0u);
        std::vector<Range> domains = map.loop_domains({parent}, false, analyzer);
        std::vector<int> seen(static_cast<size_t>(extent));
        bool runs_past = false;
        for (int o = 0; o < value_of(domains[0]->extent); ++o)
          for (int i = 0; i < value_of(domains[1]->extent); ++i) {
            int64_t index = value_of(map.axis_indices({o, i}, {parent}, domains)[0]) - 3;
            if (index >= extent) {
              runs_past = true;
              continue;
            }
            ++seen[static_cast<size_t>(index)];
            auto back = map.loop_indices({static_cast<int>(index + 3)}, {parent}, domains);
            EXPECT_EQ(value_of(back[0]), o);
            EXPECT_EQ(value_of(back[1]), i);
          }
        for (int count : seen) EXPECT_EQ(count, 1) << extent << " by " << length;
        EXPECT_EQ(map.is_exact({parent}, domains, analyzer), !runs_past);
      }
}

TEST(Loops, FuseAndItsPartsAreInverse) {
  Range outer = make_range(2, 3), inner = make_range(5, 4);
  for (int o = 2; o < 5; ++o)
    for (int i = 5; i < 9; ++i) {
      auto fused = LoopMap::fuse().loop_indices({o, i}, {outer, inner}, {});
      EXPECT_EQ(value_of(fused[0]), (o - 2) * 4 + i - 5);
      auto back = LoopMap::fuse().axis_indices(fused, {outer, inner}, {});
      EXPECT_EQ(value_of(back[0]), o);
      EXPECT_EQ(value_of(back[1]), i);
    }
}

TEST(Loops, AShiftedLoopBeginsAtZeroAndAUnitLoopIsForNoAxis) {
  arith::Analyzer analyzer;
  Range axis = make_range(5, 4);
  std::vector<Range> loop = LoopMap::shift().loop_domains({axis}, false, analyzer);
  EXPECT_EQ(value_of(loop[0]->min), 0);
  EXPECT_EQ(value_of(loop[0]->extent), 4);
  EXPECT_EQ(value_of(LoopMap::shift().axis_indices({2}, {axis}, loop)[0]), 7);
  EXPECT_EQ(value_of(LoopMap::shift().loop_indices({7}, {axis}, loop)[0]), 2);
  Interval part = LoopMap::shift().axis_intervals({Interval{1, 2}}, {axis}, loop, analyzer)[0];
  EXPECT_EQ(value_of(part.min), 6);
  EXPECT_EQ(value_of(part.max), 7);
  EXPECT_EQ(value_of(LoopMap::unit().loop_domains({}, false, analyzer)[0]->extent), 1);
  EXPECT_TRUE(LoopMap::unit().axis_indices({0}, {}, {}).empty());
  for (const LoopMap& map : {LoopMap::fuse(), LoopMap::shift(), LoopMap::unit()}) EXPECT_FALSE(map.may_overrun());
}

TEST(Loops, PartsOfAFusedIntervalHoldAllItsPoints) {
  arith::Analyzer analyzer;
  for (int rows = 1; rows <= 4; ++rows)
    for (int width = 1; width <= 5; ++width)
      for (int begin = 0; begin < rows * width; ++begin)
        for (int end = begin; end < rows * width; ++end) {
          Range outer = make_range(0, rows), inner = make_range(0, width);
          Interval fused = begin == end ? Interval::point(begin) : Interval{begin, end};
          auto parts = LoopMap::fuse().axis_intervals({fused}, {outer, inner}, {make_range(0, rows * width)}, analyzer);
          Interval o = parts[0], i = parts[1];
          for (int at = begin; at <= end; ++at) {
            EXPECT_LE(value_of(o.min), at / width);
            EXPECT_GE(value_of(o.max), at / width);
            EXPECT_LE(value_of(i.min), at % width);
            EXPECT_GE(value_of(i.max), at % width);
          }
        }
}

/// A random index expression over x and y.
PrimExpr random_index(std::mt19937& random, const Var& x, const Var& y, int depth) {
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0) return pick(3) == 0 ? PrimExpr(pick(9) - 4) : pick(2) ? PrimExpr(x) : PrimExpr(y);
  PrimExpr a = random_index(random, x, y, depth - 1), b = random_index(random, x, y, depth - 1);
  switch (pick(9)) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * PrimExpr(pick(7) - 3);
    case 3: return floordiv(a, PrimExpr(pick(4) + 1));
    case 4: return floormod(a, PrimExpr(pick(4) + 1));
    case 5: return truncdiv(a, PrimExpr(pick(4) + 1));
    case 6: return truncmod(a, PrimExpr(pick(4) + 1));
    case 7: return min(a, b);
    default: return max(a, b);
  }
}

TEST(Loops, TheIntervalOfAnExpressionHoldsAllItsValues) {
  std::mt19937 random(7);
  Var x = make_var("x"), y = make_var("y");
  for (int round = 0; round < 300; ++round) {
    int x0 = static_cast<int>(random() % 7) - 3, y0 = static_cast<int>(random() % 7) - 3;
    Interval of_x{x0, x0 + 3}, of_y{y0, y0 + 2};
    IntervalOf vars = [&](const VarNode* var) { return var == x.get() ? &of_x : var == y.get() ? &of_y : nullptr; };
    PrimExpr e = random_index(random, x, y, 3);
    arith::Analyzer analyzer;
    Interval got = eval_interval(e, vars, analyzer);
    ASSERT_TRUE(got.is_bounded()) << to_text(e);
    for (int i = x0; i <= x0 + 3; ++i)
      for (int j = y0; j <= y0 + 2; ++j) {
        int64_t value = value_of(with_values(e, {{x, i}, {y, j}}));
        EXPECT_LE(value_of(got.min), value) << to_text(e);
        EXPECT_GE(value_of(got.max), value) << to_text(e);
      }
  }
}

}  // namespace
}  // namespace tessera::loops
