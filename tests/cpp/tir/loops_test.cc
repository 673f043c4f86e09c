// The loop algebra against brute force over small numbers.

#include <gtest/gtest.h>

#include <random>

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/loops/split_fuse.h"

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
        auto [outer, inner] = split_domains(parent, by_factor ? PrimExpr(length) : PrimExpr(),
                                            by_factor ? PrimExpr() : PrimExpr(length), false, analyzer);
        std::vector<int> seen(static_cast<size_t>(extent));
        bool runs_past = false;
        for (int o = 0; o < value_of(outer->extent); ++o)
          for (int i = 0; i < value_of(inner->extent); ++i) {
            int64_t index = value_of(split_parent_index(o, i, parent, inner)) - 3;
            if (index >= extent) {
              runs_past = true;
              continue;
            }
            ++seen[static_cast<size_t>(index)];
            auto [back_o, back_i] = split_part_indices(static_cast<int>(index + 3), parent, inner);
            EXPECT_EQ(value_of(back_o), o);
            EXPECT_EQ(value_of(back_i), i);
          }
        for (int count : seen) EXPECT_EQ(count, 1) << extent << " by " << length;
        EXPECT_EQ(split_is_exact(parent, outer, inner, analyzer), !runs_past);
      }
}

TEST(Loops, FuseAndItsPartsAreInverse) {
  Range outer = make_range(2, 3), inner = make_range(5, 4);
  for (int o = 2; o < 5; ++o)
    for (int i = 5; i < 9; ++i) {
      PrimExpr fused = fused_index(o, i, outer, inner);
      auto [back_o, back_i] = fuse_part_indices(fused, outer, inner);
      EXPECT_EQ(value_of(back_o), o);
      EXPECT_EQ(value_of(back_i), i);
    }
}

TEST(Loops, PartsOfAFusedIntervalHoldAllItsPoints) {
  arith::Analyzer analyzer;
  for (int rows = 1; rows <= 4; ++rows)
    for (int width = 1; width <= 5; ++width)
      for (int begin = 0; begin < rows * width; ++begin)
        for (int end = begin; end < rows * width; ++end) {
          Range outer = make_range(0, rows), inner = make_range(0, width);
          Interval fused = begin == end ? Interval::point(begin) : Interval{begin, end};
          auto [o, i] = fuse_part_intervals(fused, make_range(0, rows * width), outer, inner, analyzer);
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
