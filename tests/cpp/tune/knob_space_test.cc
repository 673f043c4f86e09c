// The space around plans: neighbours stay in it, knobs that never fit are left alone.

#include "tune/knob_space.h"

#include <gtest/gtest.h>

#include "topi/cpu/contraction/tile_contraction.h"
#include "topi/cpu/contraction/tile_dot.h"

namespace tessera::tune {
namespace {

const kernel::ScheduleRule& rule(const char* name) {
  for (const kernel::ScheduleRule& each : kernel::schedule_rules())
    if (std::string(each.name) == name) return each;
  throw Error(ValueError) << "no rule " << name;
}

kernel::Decision convolution() {
  topi::ContractionKnobsNode tile;
  tile.columns = 14;
  tile.vectors = 2;
  return {kernel::RuleScope::Reduction,
          {{&rule("contraction"), make(std::move(tile))}, {&rule("dot"), make(topi::DotKnobsNode())}}};
}

TEST(KnobSpace, ItsOwnPointIsThePlanOfTheRules) {
  KnobSpace space({convolution()});
  const kernel::RecordedPlans plans = space.plans(space.own());
  ASSERT_EQ(plans.size(), 1u);
  EXPECT_EQ(kernel::rule_of(plans[0]).str(), "contraction");
  int64_t columns = 0;
  number_boxes.unbox_int(kernel::knobs_of(plans[0])["columns"].get(), &columns);
  EXPECT_EQ(columns, 14);
  EXPECT_NO_THROW(kernel::check_plans(plans));
}

TEST(KnobSpace, AnotherRuleThatFitsIsAPoint) {
  KnobSpace space({convolution()});
  const std::vector<Point> others = space.other_rules();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(kernel::rule_of(space.plans(others[0])[0]).str(), "dot");
}

TEST(KnobSpace, NeighboursHaveValuesThatRecordsMayHaveAndAreFoundAgain) {
  KnobSpace space({convolution()});
  Random random(7);
  Point point = space.own();
  for (int i = 0; i < 500; ++i) {
    point = space.moved(point, random);
    const kernel::RecordedPlans plans = space.plans(point);
    ASSERT_NO_THROW(kernel::check_plans(plans));
    std::optional<Point> again = space.find(plans);
    ASSERT_TRUE(again);
    for (size_t k = 0; k < point.decisions.size(); ++k)
      ASSERT_EQ(again->decisions[k].values, point.decisions[k].values);
    ASSERT_EQ(space.features(point).size(), space.features(space.own()).size());
  }
  EXPECT_FALSE(space.find({}));
}

TEST(KnobSpace, AKnobThatNeverFitsIsLeftAlone) {
  KnobSpace space({convolution()});
  Random random(7);
  int moves = 0;
  for (int i = 0; i < 2000; ++i) {
    Point point = space.moved(space.own(), random);
    space.note(point, false);
    moves = static_cast<int>(point.moves.size());
  }
  EXPECT_EQ(moves, 0);
}

}  // namespace
}  // namespace tessera::tune
