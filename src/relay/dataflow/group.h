#pragma once
// All parts of a graph that fit a pattern, none overlapping another.

#include "relay/dataflow/matcher.h"

namespace tessera::relay {

/// One match: its last expression, what each part of the pattern met, and the match as a function of its inputs.
struct PatternGroup {
  Expr root;
  MatchedNodes matched;
  std::vector<Expr> args;
  std::vector<Expr> inside;  // without the inputs
  Function function;
  std::string name;  // the operators inside: nn.conv2d_nn.relu_
};

struct PatternGroups {
  std::vector<PatternGroup> groups;
  std::unordered_map<const Object*, size_t> by_root;
};

/// Matches are looked for from the result to the inputs. A match whose inside is used elsewhere, or belongs to a match
/// found before, is left out; so is the inside of functions that a pattern was moved into.
PatternGroups find_groups(const DFPattern& pattern, const Expr& root);
/// Every match whose inside is not used elsewhere, also where matches overlap.
std::vector<PatternGroup> find_overlapping_groups(const DFPattern& pattern, const Expr& root);

}  // namespace tessera::relay
