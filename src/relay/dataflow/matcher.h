#pragma once
// Fitting patterns to expressions.

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "relay/dataflow/pattern.h"

namespace tessera::relay {

/// The expressions below a root, in order of evaluation, with who uses whom.
class DataflowGraph {
 public:
  explicit DataflowGraph(const Expr& root);

  struct Node {
    Expr expr;
    size_t index = 0;
    std::vector<size_t> inputs, outputs;
    size_t user = 0;  // the first node on every way from here to the root: its immediate dominator
    bool has_user = false;
  };
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node* find(const Expr& expr) const;
  /// Nodes whose immediate dominator is `node`.
  const std::vector<size_t>& dominated_by(const Node& node) const { return dominated_[node.index]; }

 private:
  std::vector<Node> nodes_;
  std::unordered_map<const Object*, size_t> index_;
  std::vector<std::vector<size_t>> dominated_;
};

/// Matches patterns against parts of one graph. A pattern that occurs twice must meet the same expression twice.
class DFMatcher {
 public:
  explicit DFMatcher(const DataflowGraph& graph) : graph_(graph) {}

  bool match(const DFPattern& pattern, const Expr& expr);
  /// Of the last match.
  MatchedNodes matched() const;

 private:
  bool visit(const DFPattern& pattern, const Expr& expr);
  bool test(const DFPattern& pattern, const Expr& expr);
  bool visit_all(const Array<DFPattern>& patterns, const std::vector<Expr>& exprs);
  bool visit_call(const CallPattern* pattern, const Expr& expr);
  bool visit_attrs(const AttrPattern* pattern, const Expr& expr);
  bool visit_dominator(const DominatorPattern* pattern, const Expr& expr);
  bool path_fits(const DominatorPattern* pattern, const Expr& expr);
  bool dominates_parent(const DominatorPattern* pattern, const Expr& expr);
  void forget(size_t mark);

  const DataflowGraph& graph_;
  bool memoize_ = true;
  std::unordered_map<const Object*, std::vector<Expr>> memo_;
  std::vector<DFPattern> order_;  // patterns in the order in which they matched
};

}  // namespace tessera::relay
