// Linear systems, checked by trying all small points.

#include <gtest/gtest.h>

#include "arith/solve/int_solver.h"
#include "ir/rewrite.h"
#include "random_expressions.h"

namespace tessera::arith {
namespace {

class Solvers : public testing::TestWithParam<int> {
 protected:
  Solvers() : random(static_cast<uint32_t>(GetParam())) {}
  int below(int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }
  std::mt19937 random;
  Var a = make_var("a"), b = make_var("b"), c = make_var("c");

  bool all_hold(const Array<PrimExpr>& conditions, const Point& at) {
    for (const PrimExpr& condition : conditions)
      if (!*value_at(condition, at)) return false;
    return true;
  }
  bool inside(const Map<Var, Range>& ranges, const Point& at) {
    for (const auto& [var, range] : ranges) {
      int64_t value = at.at(var.get()), low = *value_at(range->min, at);
      if (value < low || value >= low + *value_at(range->extent, at)) return false;
    }
    return true;
  }
};

TEST_P(Solvers, EquationsKeepTheirSolutions) {
  for (int round = 0; round < 60; ++round) {
    Map<Var, Range> ranges{{a, make_range(0, 6)}, {b, make_range(-2, 5)}, {c, make_range(0, 4)}};
    std::vector<PrimExpr> equations;
    for (int i = 0; i < 1 + round % 2; ++i)
      equations.push_back(
          equal(PrimExpr(a) * (below(7) - 3) + PrimExpr(b) * (below(7) - 3) + PrimExpr(c) * (below(5) - 2),
                PrimExpr(below(9) - 2)));
    IntConstraints src = make_int_constraints({a, b, c}, ranges, Array<PrimExpr>(equations));
    IntConstraintsTransform solved = solve_linear_equations(src);
    for (int x = 0; x < 6; ++x)
      for (int y = -2; y < 3; ++y)
        for (int z = 0; z < 4; ++z) {
          Point at{{a.get(), x}, {b.get(), y}, {c.get(), z}};
          if (!all_hold(src->relations, at)) continue;
          // A solution has an image that satisfies the new system and leads back.
          Point image;
          for (const Var& var : solved->dst->variables) image[var.get()] = *value_at(solved->dst_to_src[var], at);
          ASSERT_TRUE(inside(solved->dst->ranges, image));
          ASSERT_TRUE(all_hold(solved->dst->relations, image)) << show(equations[0]) << " at " << show(at);
          for (const Var& var : {a, b, c}) ASSERT_EQ(*value_at(solved->src_to_dst[var], image), at[var.get()]);
        }
    // And every point of the new system is a solution of the old.
    if (solved->dst->variables.size() > 2) continue;
    for (int u = -15; u <= 15; ++u)
      for (int v = -15; v <= 15; ++v) {
        Point image;
        if (solved->dst->variables.size() > 0) image[solved->dst->variables[0].get()] = u;
        if (solved->dst->variables.size() > 1) image[solved->dst->variables[1].get()] = v;
        if (!inside(solved->dst->ranges, image) || !all_hold(solved->dst->relations, image)) continue;
        Point at;
        for (const Var& var : {a, b, c}) at[var.get()] = *value_at(solved->src_to_dst[var], image);
        ASSERT_TRUE(all_hold(src->relations, at)) << show(equations[0]) << " at " << show(at);
        ASSERT_TRUE(inside(ranges, at)) << show(at);
      }
  }
}

TEST_P(Solvers, InequalitiesBecomeRangesOfTheSamePoints) {
  for (int round = 0; round < 40; ++round) {
    Map<Var, Range> ranges{{a, make_range(-4, 9)}, {b, make_range(-4, 9)}};
    std::vector<PrimExpr> conditions;
    for (int i = 0; i < 2; ++i) {
      PrimExpr left = PrimExpr(a) * (below(7) - 3) + PrimExpr(b) * (below(7) - 3);
      conditions.push_back(below(2) ? left < below(9) - 2 : left >= below(9) - 6);
    }
    IntConstraints src = make_int_constraints({a, b}, ranges, Array<PrimExpr>(conditions));
    IntConstraints solved = solve_inequalities_to_range(src);
    IntConstraintsTransform moved = solve_inequalities_deskew_range(src);
    for (int x = -8; x <= 8; ++x)
      for (int y = -8; y <= 8; ++y) {
        Point at{{a.get(), x}, {b.get(), y}};
        bool before = inside(ranges, at) && all_hold(src->relations, at);
        bool after = inside(solved->ranges, at) && all_hold(solved->relations, at);
        ASSERT_EQ(before, after) << show(conditions[0]) << ", " << show(conditions[1]) << " at " << show(at);
        if (!before) continue;
        Point image;
        for (const Var& var : moved->dst->variables) image[var.get()] = *value_at(moved->dst_to_src[var], at);
        ASSERT_TRUE(inside(moved->dst->ranges, image));
        for (const Var& var : {a, b}) ASSERT_EQ(*value_at(moved->src_to_dst[var], image), at[var.get()]);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Solvers, testing::Range(1, 6));

TEST(Solver, AContradictionIsTold) {
  Var a = make_var("a");
  IntConstraints src = make_int_constraints({a}, {}, {equal(PrimExpr(a) * 2, 7)});
  IntConstraintsTransform solved = solve_linear_equations(src);
  ASSERT_EQ(solved->dst->relations.size(), 1u);
  EXPECT_TRUE(is_zero(solved->dst->relations[0]));
}

}  // namespace
}  // namespace tessera::arith
