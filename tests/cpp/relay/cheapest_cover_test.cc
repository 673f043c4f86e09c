// Dividing a graph among parts at least cost, against all divisions of small graphs.

#include "relay/transform/region/cheapest_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tessera::relay {
namespace {

/// A graph whose edges lead from lower to higher nodes, and parts of it with costs.
struct Problem {
  size_t count;
  std::vector<std::vector<size_t>> inputs;
  std::vector<std::vector<size_t>> parts;
  std::vector<double> costs;

  IndexSet needed_by(const std::vector<size_t>& part) const {
    IndexSet members(count), out(count);
    for (size_t node : part) members.insert(node);
    for (size_t at = count; at-- > 0;)
      for (size_t user = at + 1; user < count; ++user)
        for (size_t input : inputs[user])
          if (input == at && (out.contains(user) || (members.contains(user) && !members.contains(at)))) out.insert(at);
    return out;
  }
  std::vector<CoverPart> cover_parts() const {
    std::vector<CoverPart> out;
    for (const auto& part : parts) {
      IndexSet members(count);
      for (size_t node : part) members.insert(node);
      out.push_back({members, needed_by(part)});
    }
    return out;
  }
};

/// Can the parts be computed one after another?
bool has_order(const Problem& problem, const std::vector<size_t>& taken) {
  std::vector<bool> done(problem.count, false), used(problem.parts.size(), false);
  for (size_t round = 0; round < taken.size(); ++round) {
    for (size_t part : taken) {
      auto is_ready = [&] {
        for (size_t node : problem.parts[part])
          for (size_t input : problem.inputs[node]) {
            const auto& own = problem.parts[part];
            if (!done[input] && std::find(own.begin(), own.end(), input) == own.end()) return false;
          }
        return true;
      };
      if (used[part] || !is_ready()) continue;
      used[part] = true;
      for (size_t node : problem.parts[part]) done[node] = true;
    }
  }
  return std::all_of(done.begin(), done.end(), [](bool is_done) { return is_done; });
}

double best_by_trying_all(const Problem& problem, std::vector<size_t>* taken, std::vector<bool>* covered, double cost) {
  size_t next = 0;
  while (next < problem.count && (*covered)[next]) ++next;
  if (next == problem.count) return has_order(problem, *taken) ? cost : INFINITY;
  double best = INFINITY;
  for (size_t part = 0; part < problem.parts.size(); ++part) {
    const auto& nodes = problem.parts[part];
    if (std::find(nodes.begin(), nodes.end(), next) == nodes.end()) continue;
    if (std::any_of(nodes.begin(), nodes.end(), [&](size_t node) { return (*covered)[node]; })) continue;
    for (size_t node : nodes) (*covered)[node] = true;
    taken->push_back(part);
    best = std::min(best, best_by_trying_all(problem, taken, covered, cost + problem.costs[part]));
    taken->pop_back();
    for (size_t node : nodes) (*covered)[node] = false;
  }
  return best;
}

Problem random_problem(std::mt19937& random) {
  Problem out;
  out.count = 2 + random() % 6;
  out.inputs.resize(out.count);
  for (size_t node = 1; node < out.count; ++node)
    for (size_t input = 0; input < node; ++input)
      if (random() % 3 == 0) out.inputs[node].push_back(input);
  for (size_t part = 0; part < 10; ++part) {
    std::vector<size_t> nodes;
    for (size_t node = 0; node < out.count; ++node)
      if (random() % 3 == 0) nodes.push_back(node);
    IndexSet needed = out.needed_by(nodes);
    bool is_convex = std::none_of(nodes.begin(), nodes.end(), [&](size_t node) { return needed.contains(node); });
    if (nodes.empty() || !is_convex) continue;
    out.parts.push_back(nodes);
    out.costs.push_back(static_cast<double>(1 + random() % 20));
  }
  for (size_t node = 0; node < out.count; ++node) {
    out.parts.push_back({node});
    out.costs.push_back(random() % 8 ? static_cast<double>(1 + random() % 20) : INFINITY);
  }
  return out;
}

TEST(CheapestCover, CostsAsMuchAsTheBestOfAllDivisions) {
  std::mt19937 random(7);
  int found = 0, larger = 0;
  for (int round = 0; round < 400; ++round) {
    Problem problem = random_problem(random);
    std::vector<size_t> cover =
        cheapest_cover(problem.cover_parts(), problem.count, [&](size_t part) { return problem.costs[part]; });
    std::vector<size_t> taken;
    std::vector<bool> covered(problem.count, false);
    const double best = best_by_trying_all(problem, &taken, &covered, 0);
    double cost = cover.empty() ? INFINITY : 0;
    for (size_t part : cover) cost += problem.costs[part];
    ASSERT_EQ(cost, best) << "round " << round;
    if (std::isinf(best)) continue;
    ASSERT_TRUE(has_order(problem, cover));
    ++found;
    larger += cover.size() < problem.count;
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(larger, 200);
}

TEST(CheapestCover, PartsThatNeedEachOtherAreNotTakenTogether) {
  // 0 -> 1 and 2 -> 3; {0, 3} and {1, 2} would each wait for the other
  Problem problem{4, {{}, {0}, {}, {2}}, {{0, 3}, {1, 2}, {0}, {1}, {2}, {3}}, {1, 1, 5, 5, 5, 5}};
  auto cost = [&](size_t part) { return problem.costs[part]; };
  EXPECT_EQ(cheapest_cover(problem.cover_parts(), 4, cost).size(), 3u);
}

TEST(CheapestCover, OfEqualCostTheFewestPartsAreTakenAndEachIsAskedOnce) {
  Problem problem{2, {{}, {0}}, {{0}, {1}, {0, 1}}, {2, 2, 4}};
  std::vector<int> asked(3, 0);
  auto cost = [&](size_t part) { return ++asked[part], problem.costs[part]; };
  EXPECT_EQ(cheapest_cover(problem.cover_parts(), 2, cost), std::vector<size_t>{2});
  EXPECT_EQ(asked, (std::vector<int>{1, 1, 1}));
}

}  // namespace
}  // namespace tessera::relay
