// Reductions with a loop factored out, and the conditions they stand under.

#include "tir/loops/factor.h"

#include <gtest/gtest.h>

#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "tir/loops/conditions.h"
#include "tir/loops/interval.h"
#include "tir/loops/reduction.h"

namespace tessera::loops {
namespace {

TEST(FactoredAxes, AreThoseOfTheFactorAndAllThatShareALoopWithThem) {
  // axis 0 by loops 0 and 1, axis 1 by loops 1 and 2, axis 2 by loop 3
  auto has_part = [](size_t axis, size_t loop) { return axis == 2 ? loop == 3 : loop == axis || loop == axis + 1; };
  for (size_t factor : {0, 1, 2}) {
    FactoredAxes parts = factor_axes(3, 5, factor, has_part);
    EXPECT_EQ(parts.axes, (std::vector<bool>{true, true, false}));
    EXPECT_EQ(parts.loops, (std::vector<bool>{true, true, true, false, false}));
  }
  EXPECT_EQ(factor_axes(3, 5, 3, has_part).axes, (std::vector<bool>{false, false, true}));
  FactoredAxes alone = factor_axes(3, 5, 4, has_part);
  EXPECT_EQ(alone.axes, std::vector<bool>(3));
  EXPECT_EQ(alone.loops, (std::vector<bool>{false, false, false, false, true}));
}

TEST(FactorPosition, CountsFromEitherEnd) {
  EXPECT_EQ(factor_position(0, 2), 0u);
  EXPECT_EQ(factor_position(2, 2), 2u);
  EXPECT_EQ(factor_position(-1, 2), 2u);
  EXPECT_EQ(factor_position(-3, 2), 0u);
  EXPECT_FALSE(factor_position(3, 2));
  EXPECT_FALSE(factor_position(-4, 2));
  Array<PrimExpr> indices = with_factor({4, 5}, 1, 9);
  ASSERT_EQ(indices.size(), 3u);
  EXPECT_EQ(*as_int(indices[1]), 9);
  EXPECT_EQ(*as_int(indices[2]), 5);
}

TEST(Conditions, AreTakenApartInOrderAndWithoutThoseOfSomeVariables) {
  Var x = make_var("x"), y = make_var("y");
  PrimExpr a = x < 3, b = y < 4, c = x + y < 5;
  std::vector<PrimExpr> parts = conjuncts(logical_and(a, logical_and(b, c)));
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_TRUE(parts[0].same_as(a) && parts[1].same_as(b) && parts[2].same_as(c));
  auto is_x = [&](const VarNode* var) { return var == x.get(); };
  EXPECT_TRUE(conditions_without(logical_and(logical_and(a, b), c), is_x).same_as(b));
  EXPECT_TRUE(is_one(conditions_without(a, is_x)));
  EXPECT_TRUE(is_one(all_of({})));
  EXPECT_TRUE(structural_equal(all_of({a, b, c}), logical_and(logical_and(a, b), c)));
}

TEST(Reduction, OverNoAxesIsItsSourceOrTheIdentity) {
  Var x = make_var("x"), y = make_var("y"), k = make_var("k"), n = make_var("n");
  CommReducer sum =
      make(CommReducerNode{.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity_element = {make_zero(x->dtype)}});
  PrimExpr source = n * 2;
  EXPECT_TRUE(reduce_all(sum, {source}, {}, bool_imm(true))[0].same_as(source));
  PrimExpr guarded = reduce_all(sum, {source}, {}, n < 4)[0];
  EXPECT_TRUE(structural_equal(guarded, if_then_else(n < 4, source, make_zero(x->dtype))));
  PrimExpr whole = reduce_all(sum, {source}, {make_iter_var(make_range(0, 8), k, IterType::CommReduce)}, n < 4)[0];
  auto* reduce = whole.as<Reduce>();
  ASSERT_TRUE(reduce);
  EXPECT_EQ(reduce->axis.size(), 1u);
  EXPECT_TRUE(structural_equal(reduce->condition, n < 4));
}

TEST(Box, GrowsToHoldWhatIsAdded) {
  arith::Analyzer analyzer;
  Box box;
  widen(&box, {{0, 3}, {5, 6}}, analyzer);
  widen(&box, {{2, 8}, {1, 2}}, analyzer);
  widen(&box, {}, analyzer);
  ASSERT_EQ(box.size(), 2u);
  EXPECT_EQ(*as_int(box[0].min), 0);
  EXPECT_EQ(*as_int(box[0].max), 8);
  EXPECT_EQ(*as_int(box[1].min), 1);
  EXPECT_EQ(*as_int(box[1].max), 6);
}

}  // namespace
}  // namespace tessera::loops
