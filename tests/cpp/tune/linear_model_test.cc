#include "tune/linear_model.h"

#include <gtest/gtest.h>

namespace tessera::tune {
namespace {

TEST(LinearModel, RanksWhatItHasNotSeen) {
  std::vector<std::vector<double>> features;
  std::vector<double> target;
  for (double x = 0; x < 4; ++x)
    for (double y = 0; y < 4; ++y) {
      features.push_back({1, x, x * x, y, y * y});
      target.push_back((x - 2) * (x - 2) + 3 * y);
    }
  LinearModel model;
  model.fit(features, target);
  auto at = [&](double x, double y) { return model.predict({1, x, x * x, y, y * y}); };
  EXPECT_LT(at(2.5, 0), at(2.5, 5));
  EXPECT_LT(at(2, 1), at(5, 1));
}

TEST(LinearModel, KnowsNothingAtFirstAndSurvivesOnePoint) {
  LinearModel model;
  EXPECT_EQ(model.predict({1, 2}), 0);
  model.fit({}, {});
  EXPECT_EQ(model.predict({1, 2}), 0);
  model.fit({{1, 2}}, {5});
  EXPECT_EQ(model.predict({1, 9}), 0);
}

}  // namespace
}  // namespace tessera::tune
