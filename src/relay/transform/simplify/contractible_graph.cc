#include "relay/transform/simplify/contractible_graph.h"

#include <algorithm>

namespace tessera::relay {

size_t ContractibleGraph::add() {
  parent_.push_back(parent_.size());
  out_.emplace_back();
  in_.emplace_back();
  rank_.push_back(0);
  return parent_.size() - 1;
}

size_t ContractibleGraph::find(size_t vertex) const {
  while (parent_[vertex] != vertex) {
    parent_[vertex] = parent_[parent_[vertex]];
    vertex = parent_[vertex];
  }
  return vertex;
}

void ContractibleGraph::connect(size_t from, size_t to) {
  from = find(from);
  to = find(to);
  if (from == to) return;
  out_[from].insert(to);
  in_[to].insert(from);
}

bool ContractibleGraph::order() {
  std::vector<size_t> waiting(parent_.size()), ready;
  for (size_t i = 0; i < parent_.size(); ++i) {
    waiting[i] = in_[i].size();
    if (waiting[i] == 0) ready.push_back(i);
  }
  size_t next = 0;
  while (!ready.empty()) {
    size_t at = ready.back();
    ready.pop_back();
    rank_[at] = next++;
    for (size_t user : out_[at])
      if (--waiting[user] == 0) ready.push_back(user);
  }
  return next == parent_.size();
}

template <class F>
std::vector<size_t> ContractibleGraph::reached(size_t start, size_t without, const std::vector<std::set<size_t>>& edges,
                                               F is_between) const {
  std::set<size_t> seen;
  std::vector<size_t> found, open{start};
  while (!open.empty()) {
    size_t at = open.back();
    open.pop_back();
    for (size_t next : edges[at]) {
      if ((at == start && next == without) || !is_between(next) || !seen.insert(next).second) continue;
      found.push_back(next);
      open.push_back(next);
    }
  }
  return found;
}

bool ContractibleGraph::contract(size_t from, size_t to) {
  from = find(from);
  to = find(to);
  if (from == to) return true;
  const size_t low = rank_[from], high = rank_[to];
  if (in_[to].size() == 1 && in_[to].count(from)) return merge(from, to, low), true;
  if (out_[from].size() == 1 && out_[from].count(to)) return merge(from, to, high), true;

  std::vector<size_t> after = reached(from, to, out_, [&](size_t v) { return rank_[v] <= high; });
  if (std::find(after.begin(), after.end(), to) != after.end()) return false;
  // Of the positions that all these had, the first go to what leads to `to`, the last to what `from` leads to.
  std::vector<size_t> before = reached(to, from, in_, [&](size_t v) { return rank_[v] > low; });
  std::vector<size_t> ranks{low, high};
  for (const auto* part : {&before, &after})
    for (size_t v : *part) ranks.push_back(rank_[v]);
  std::sort(ranks.begin(), ranks.end());
  auto by_rank = [&](size_t a, size_t b) { return rank_[a] < rank_[b]; };
  std::sort(before.begin(), before.end(), by_rank);
  std::sort(after.begin(), after.end(), by_rank);
  for (size_t i = 0; i < before.size(); ++i) rank_[before[i]] = ranks[i];
  for (size_t i = 0; i < after.size(); ++i) rank_[after[i]] = ranks[before.size() + 2 + i];
  merge(from, to, ranks[before.size()]);
  return true;
}

void ContractibleGraph::merge(size_t from, size_t to, size_t rank) {
  if (out_[from].size() + in_[from].size() < out_[to].size() + in_[to].size()) std::swap(from, to);
  parent_[to] = from;
  rank_[from] = rank;
  auto move = [&](std::vector<std::set<size_t>>& edges, std::vector<std::set<size_t>>& back) {
    for (size_t other : edges[to]) {
      back[other].erase(to);
      if (other == from) continue;
      edges[from].insert(other);
      back[other].insert(from);
    }
    edges[to].clear();
  };
  move(out_, in_);
  move(in_, out_);
}

}  // namespace tessera::relay
