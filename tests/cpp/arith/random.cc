// Everything an analyzer says about random expressions is checked on the numbers they stand for.

#include <gtest/gtest.h>

#include "random_expressions.h"

namespace tessera::arith {
namespace {

int node_count(const PrimExpr& e) {
  Kind kind = kind_of(e);
  if (is_binary(kind)) return 1 + node_count(as_binary(e)->a) + node_count(as_binary(e)->b);
  if (const auto* node = e.as<Not>()) return 1 + node_count(node->a);
  if (const auto* node = e.as<Select>())
    return 1 + node_count(node->condition) + node_count(node->true_value) + node_count(node->false_value);
  return 1;
}

class Random : public testing::TestWithParam<int> {
 protected:
  Random() : make(static_cast<uint32_t>(GetParam())) { make.bind(&analyzer); }
  RandomExpressions make;
  Analyzer analyzer;

  void same(const PrimExpr& before, const PrimExpr& after, const char* how) {
    for (int i = 0; i < 60; ++i) {
      Point at = make.point();
      auto expected = value_at(before, at);
      if (!expected) continue;
      auto got = value_at(after, at);
      ASSERT_EQ(got, expected) << how << " of " << show(before) << "\n  gave " << show(after) << "\n  at " << show(at);
    }
  }
};

TEST_P(Random, SimplifyingKeepsTheValue) {
  for (int i = 0; i < 400; ++i) {
    PrimExpr e = i % 3 ? make.number(1 + i % 4) : make.truth(1 + i % 3);
    same(e, analyzer.rewrite_simplify(e), "rewrite_simplify");
    same(e, analyzer.canonical_simplify(e), "canonical_simplify");
    same(e, analyzer.simplify(e), "simplify");
    if (HasFatalFailure()) return;
  }
}

TEST_P(Random, SimplifyingDoesNotMakeThingsLonger) {
  int before = 0, after = 0;
  for (int i = 0; i < 200; ++i) {
    PrimExpr e = i % 3 ? make.number(1 + i % 4) : make.truth(1 + i % 3);
    before += node_count(e);
    after += node_count(analyzer.simplify(e));
  }
  EXPECT_LT(after * 10, before * 9);
}

TEST_P(Random, SimplifyingAgainChangesNothing) {
  int changed = 0;
  for (int i = 0; i < 200; ++i) {
    PrimExpr once = analyzer.rewrite_simplify(make.number(1 + i % 4));
    PrimExpr twice = Analyzer(analyzer).rewrite_simplify(once);
    changed += show(once) != show(twice);
  }
  EXPECT_LE(changed, 2);
}

TEST_P(Random, BoundsAndRemaindersHold) {
  for (int i = 0; i < 200; ++i) {
    PrimExpr e = make.number(1 + i % 4);
    IntBound bound = analyzer.const_int_bound(e);
    Modular modular = analyzer.modular_set(e);
    for (int k = 0; k < 60; ++k) {
      Point at = make.point();
      auto value = value_at(e, at);
      if (!value) continue;
      ASSERT_TRUE(bound.min <= *value && *value <= bound.max)
          << show(e) << " is " << *value << " at " << show(at) << ", not in [" << bound.min << ", " << bound.max << "]";
      bool fits = modular.coeff == 0 ? *value == modular.base : (*value - modular.base) % modular.coeff == 0;
      ASSERT_TRUE(fits) << show(e) << " is " << *value << " at " << show(at) << ", not k * " << modular.coeff << " + "
                        << modular.base;
    }
  }
}

TEST_P(Random, NothingFalseIsProven) {
  int proven = 0, true_ones = 0;
  for (int i = 0; i < 150; ++i) {
    PrimExpr condition = make.truth(1 + i % 2);
    bool says = analyzer.can_prove(condition), is_true = true;
    make.all_points([&](const Point& at) {
      auto value = value_at(condition, at);
      if (value && !*value) {
        is_true = false;
        if (says) ADD_FAILURE() << show(condition) << " was proven and is false at " << show(at);
      }
    });
    proven += says;
    true_ones += is_true;
    if (HasFailure()) return;
  }
  EXPECT_GT(proven * 10, true_ones * 7) << "proved " << proven << " of " << true_ones;
}

TEST_P(Random, UnderAConditionOnlyItsPointsMatter) {
  for (int i = 0; i < 120; ++i) {
    PrimExpr condition = make.truth(1), e = i % 2 ? make.number(2) : make.truth(2);
    PrimExpr inside;
    IntBound bound;
    {
      auto scope = analyzer.assume(condition);
      inside = analyzer.simplify(e);
      bound = analyzer.const_int_bound(e);
    }
    for (int k = 0; k < 200; ++k) {
      Point at = make.point();
      auto holds = value_at(condition, at), value = value_at(e, at);
      if (!holds || !*holds || !value) continue;
      ASSERT_EQ(value_at(inside, at), value)
          << show(e) << "\n  under " << show(condition) << "\n  gave " << show(inside) << "\n  at " << show(at);
      ASSERT_TRUE(bound.min <= *value && *value <= bound.max) << show(e) << " under " << show(condition);
    }
    same(e, analyzer.simplify(e), "simplify after the scope");
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, testing::Range(1, 9));

}  // namespace
}  // namespace tessera::arith
