// Contracting edges of graphs without cycles: a contraction is rejected exactly where it would close a cycle.

#include "relay/transform/simplify/contractible_graph.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>

namespace tessera::relay {
namespace {

using Edges = std::vector<std::pair<size_t, size_t>>;

/// The same by plain search: `group` says which vertices are one.
bool leads_around(const Edges& edges, const std::vector<size_t>& group, size_t from, size_t to) {
  std::vector<size_t> open;
  std::vector<bool> seen(group.size());
  auto follow = [&](size_t at) {
    for (auto [a, b] : edges)
      if (group[a] == at && group[b] != at && !(at == from && group[b] == to) && !seen[group[b]])
        seen[group[b]] = true, open.push_back(group[b]);
  };
  follow(from);
  while (!open.empty()) {
    size_t at = open.back();
    open.pop_back();
    if (at == to) return true;
    follow(at);
  }
  return false;
}

TEST(ContractibleGraph, RejectsWhatWouldCloseACycleAndNothingElse) {
  std::mt19937 random(7);
  int rejected = 0, done = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t count = 2 + random() % 14;
    Edges edges;
    ContractibleGraph graph(count);
    for (size_t i = 0; i < 2 * count; ++i) {
      size_t a = random() % count, b = random() % count;
      if (a == b) continue;
      edges.emplace_back(std::min(a, b), std::max(a, b));
      graph.connect(edges.back().first, edges.back().second);
    }
    ASSERT_TRUE(graph.order());
    std::vector<size_t> group(count);
    std::iota(group.begin(), group.end(), 0);
    std::shuffle(edges.begin(), edges.end(), random);
    for (auto [a, b] : edges) {
      size_t from = group[a], to = group[b];
      if (from == to) continue;
      const bool is_rejected = leads_around(edges, group, from, to);
      ASSERT_EQ(graph.contract(a, b), !is_rejected) << "round " << round << ", edge " << a << " to " << b;
      ++(is_rejected ? rejected : done);
      if (is_rejected) continue;
      for (size_t& g : group)
        if (g == to) g = from;
    }
  }
  EXPECT_GT(rejected, 300);
  EXPECT_GT(done, 300);
}

TEST(ContractibleGraph, SaysWhenThereIsACycleFromTheStart) {
  ContractibleGraph graph(2);
  const size_t third = graph.add();
  graph.connect(0, 1);
  graph.connect(1, third);
  graph.connect(third, 0);
  EXPECT_FALSE(graph.order());
}

}  // namespace
}  // namespace tessera::relay
