// Iteration maps, checked by running through their spaces.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "arith/iter_map/iter_map.h"
#include "random_expressions.h"

namespace tessera::arith {
namespace {

class IterMaps : public testing::TestWithParam<int> {
 protected:
  IterMaps() : random(static_cast<uint32_t>(GetParam())) {
    const int sizes[] = {2, 3, 4, 6, 8};
    for (int i = 0; i < 3; ++i) {
      vars.push_back(make_var(std::string(1, static_cast<char>('i' + i))));
      extents.push_back(sizes[random() % 5]);
      iters.set(vars[i], make_range(0, extents[i]));
    }
  }
  int below(int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

  PrimExpr fused() const {
    return PrimExpr(vars[0]) * (extents[1] * extents[2]) + PrimExpr(vars[1]) * extents[2] + vars[2];
  }

  /// All loops fused, or some of them; then taken apart again, mostly where it divides.
  std::vector<PrimExpr> indices() {
    PrimExpr fused = this->fused();
    switch (below(6)) {
      case 0: return {fused};
      case 1: {
        int d = below(2) ? extents[2] : 1 + below(6);
        return {floordiv(fused, d), floormod(fused, d)};
      }
      case 2: return {PrimExpr(vars[0]) * extents[1] + vars[1], vars[2]};
      case 3: return {PrimExpr(vars[2]) + below(4), PrimExpr(vars[0]) * (1 + below(3)), vars[1]};
      case 4: return {floordiv(vars[0], 2), floormod(vars[0], 2), PrimExpr(vars[1]) + vars[2]};
      default: return {floormod(fused, 1 + below(8)), vars[0]};
    }
  }

  template <class F>
  void each_point(F f) {
    for (int i = 0; i < extents[0]; ++i)
      for (int j = 0; j < extents[1]; ++j)
        for (int k = 0; k < extents[2]; ++k) f(Point{{vars[0].get(), i}, {vars[1].get(), j}, {vars[2].get(), k}});
  }

  std::mt19937 random;
  std::vector<Var> vars;
  std::vector<int> extents;
  Map<Var, Range> iters;
  Analyzer analyzer;
};

TEST_P(IterMaps, AMapHasTheValuesOfItsIndicesAndTheLevelItPromises) {
  int found = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<PrimExpr> index = indices();
    for (IterMapLevel level : {IterMapLevel::Bijective, IterMapLevel::Surjective}) {
      Analyzer fresh;
      IterMapResult map = detect_iter_map(Array<PrimExpr>(index), iters, bool_imm(true), level, &fresh);
      if (map->indices.empty()) {
        EXPECT_FALSE(map->errors.empty()) << "an error says why";
        continue;
      }
      ++found;
      std::map<std::vector<int64_t>, int> seen;
      std::vector<std::set<int64_t>> values(index.size());
      each_point([&](const Point& at) {
        std::vector<int64_t> point;
        for (size_t i = 0; i < index.size(); ++i) {
          auto expected = value_at(index[i], at);
          ASSERT_EQ(value_at(normalize_iter_map_to_expr(map->indices[i]), at), expected) << show(index[i]);
          point.push_back(*expected);
          values[i].insert(*expected);
        }
        ++seen[point];
      });
      if (HasFatalFailure()) return;
      size_t box = 1;
      for (const auto& axis : values) box *= axis.size();
      EXPECT_EQ(seen.size(), box) << "not onto its box";
      if (level == IterMapLevel::Bijective) {
        for (const auto& [point, count] : seen) ASSERT_EQ(count, 1) << "not one to one";
      }
    }
  }
  EXPECT_GT(found, 10);
}

TEST_P(IterMaps, UnderAGuardAMapIsOneToOneWhereTheGuardHolds) {
  int found = 0;
  for (int round = 0; round < 40; ++round) {
    int inner = 1 + below(9), outer = 2 + below(5), limit = below(4) ? inner * outer : 1 + below(40);
    std::vector<PrimExpr> index = indices();
    if (below(3)) index = {floordiv(fused(), inner), floormod(fused(), inner)};
    PrimExpr guard = fused() < limit;
    Analyzer fresh;
    if (detect_iter_map(Array<PrimExpr>(index), iters, guard, IterMapLevel::Bijective, &fresh)->indices.empty())
      continue;
    ++found;
    Array<PrimExpr> simple = iter_map_simplify(Array<PrimExpr>(index), iters, guard, IterMapLevel::Bijective);
    if (limit == inner * outer) {
      EXPECT_FALSE(detect_iter_map(simple, iters, guard, IterMapLevel::Bijective, &fresh)->indices.empty())
          << "digits stay digits: " << show(simple[0]);
    }
    std::set<std::vector<int64_t>> seen;
    each_point([&](const Point& at) {
      if (!*value_at(guard, at)) return;
      std::vector<int64_t> point;
      for (size_t i = 0; i < index.size(); ++i) {
        point.push_back(*value_at(index[i], at));
        ASSERT_EQ(value_at(simple[i], at), point.back()) << show(index[i]) << " where " << show(guard);
      }
      ASSERT_TRUE(seen.insert(point).second) << "not one to one: " << show(index[0]) << " where " << show(guard);
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(found, 3);
}

TEST_P(IterMaps, TheInverseGivesBackTheIterators) {
  int inverted = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<PrimExpr> index = indices();
    IterMapResult map =
        detect_iter_map(Array<PrimExpr>(index), iters, bool_imm(true), IterMapLevel::Bijective, &analyzer);
    if (map->indices.empty()) continue;
    ++inverted;
    std::vector<Var> outputs;
    for (size_t i = 0; i < index.size(); ++i) outputs.push_back(make_var("o"));
    Map<Var, PrimExpr> back = inverse_affine_iter_map(map->indices, Array<PrimExpr>(outputs.begin(), outputs.end()));
    each_point([&](const Point& at) {
      Point image;
      for (size_t i = 0; i < index.size(); ++i) image[outputs[i].get()] = *value_at(index[i], at);
      for (const Var& var : vars) {
        if (!back.count(var)) continue;
        ASSERT_EQ(value_at(back[var], image), at.at(var.get())) << show(back[var]);
      }
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(inverted, 4);
}

TEST_P(IterMaps, DividedBindingsAddUp) {
  int divided = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<PrimExpr> index = indices();
    Array<Var> inner = below(2) ? Array<Var>{vars[2]} : Array<Var>{vars[1], vars[2]};
    auto parts =
        subspace_divide(Array<PrimExpr>(index), iters, inner, bool_imm(true), IterMapLevel::Surjective, &analyzer);
    if (parts.empty()) continue;
    ++divided;
    ASSERT_EQ(parts.size(), index.size() + 1);
    each_point([&](const Point& at) {
      for (size_t i = 0; i < index.size(); ++i) {
        auto value = [&](const IterMark& mark) { return *value_at(normalize_iter_map_to_expr(mark->source), at); };
        int64_t size = *value_at(parts[i][1]->extent, at);
        ASSERT_EQ(value(parts[i][0]) * size + value(parts[i][1]), *value_at(index[i], at)) << show(index[i]);
      }
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(divided, 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, IterMaps, testing::Range(1, 9));

}  // namespace
}  // namespace tessera::arith
