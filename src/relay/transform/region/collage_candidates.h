#pragma once
// The parts of a graph that toolchains could compute, for CollagePartition.

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/target/target.h"
#include "relay/dataflow/group.h"
#include "relay/transform/region/cheapest_cover.h"

namespace tessera::relay {

/// A toolchain that takes what its patterns match.
struct Toolchain {
  Target target;
  struct Rule {
    std::string name;
    DFPattern pattern;
    PackedFunc check;  // of the root of a match
  };
  std::vector<Rule> rules;
  std::string compiler() const { return target->kind->name.str(); }
};

/// How many operators, or matches of an external toolchain, a part has one after another at most.
struct CollageLimits {
  int host_depth = 4, external_depth = 3;
};

/// One match of a rule.
struct RuleMatch {
  const Toolchain* toolchain;
  std::string rule;
  PatternGroup group;
  IndexSet members;
};

/// A part that gives one value, its root's.
struct CollageCandidate {
  CoverPart part;  // of calls of operators, in order of evaluation
  Expr root;
  std::vector<const RuleMatch*> matches;  // in order of evaluation; none where the compiler itself takes the part
};

/// The calls of operators in a function's body, outside of functions in it, and what could take them.
class CollageCandidates {
 public:
  CollageCandidates(const Expr& body, const std::vector<Toolchain>& toolchains, const CollageLimits& limits);
  size_t calls() const { return calls_.size(); }
  const std::vector<CollageCandidate>& all() const { return candidates_; }
  bool holds(const CollageCandidate& candidate, const Expr& expr) const;

 private:
  void number_calls(const Expr& body);
  void find_matches(const Expr& body, const std::vector<Toolchain>& toolchains);
  /// A call, and with it those that the compiler makes one kernel with.
  void add_kernels(size_t call, int depth);
  /// A match, and with it those of its toolchain whose results only it uses.
  void add_unions(size_t match, int depth);
  void add(const IndexSet& members, const Expr& root, std::vector<const RuleMatch*> matches);
  /// The calls that members need and are none themselves, with all that those need.
  IndexSet before(const IndexSet& members) const;
  /// The only user of a value, by its number; -1 where there are several, or it is no call of an operator.
  int only_user(const Expr& value) const;
  bool is_used_only_in(const Expr& value, const IndexSet& members) const;

  DataflowGraph graph_;
  std::vector<size_t> calls_;     // positions in the graph
  std::vector<int> number_;       // of each node of the graph; -1 where it is no such call
  std::vector<IndexSet> needed_;  // by each node of the graph: calls, itself among them
  std::deque<RuleMatch> matches_;
  std::unordered_map<const Object*, std::vector<size_t>> matches_by_root_;
  std::vector<CollageCandidate> candidates_;
};

}  // namespace tessera::relay
