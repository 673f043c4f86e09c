#pragma once
// A directed graph without cycles whose edges are contracted one after another, as long as it has none.

#include <cstddef>
#include <set>
#include <vector>

namespace tessera::relay {

/// Vertices keep an order in which every edge leads forward, so that a search between two of them stays among those that
/// lie between. Contracting an edge looks at nothing else where its source has no other way on or its target no other way
/// in; long chains and trees are contracted in time proportional to their edges.
class ContractibleGraph {
 public:
  explicit ContractibleGraph(size_t vertices) : out_(vertices), in_(vertices), parent_(vertices), rank_(vertices) {
    for (size_t i = 0; i < vertices; ++i) parent_[i] = i;
  }

  /// A new vertex without edges.
  size_t add();
  /// An edge between the vertices that these are by now; nothing where they are one.
  void connect(size_t from, size_t to);
  bool has_ways_in(size_t vertex) const { return !in_[find(vertex)].empty(); }
  /// Orders the vertices; needed once, after the last edge and before the first contraction. False where there is a cycle:
  /// nothing may be contracted then.
  bool order();

  /// Makes two vertices one, where no way but the edge between them leads from the one to the other.
  bool contract(size_t from, size_t to);

 private:
  size_t find(size_t vertex) const;
  /// What is reached from `start` along `edges`, without itself, among vertices for which `is_between`.
  template <class F>
  std::vector<size_t> reached(size_t start, size_t without, const std::vector<std::set<size_t>>& edges,
                              F is_between) const;
  void merge(size_t from, size_t to, size_t rank);

  std::vector<std::set<size_t>> out_, in_;  // of vertices that are their own parents, which they name
  mutable std::vector<size_t> parent_;
  std::vector<size_t> rank_;
};

}  // namespace tessera::relay
