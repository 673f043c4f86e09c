#pragma once
// Matching values of algebraic data types.

#include "relay/expr.h"

namespace tessera::relay {

struct PatternNode : Object {
  Span span;
  static constexpr NodeInfo info{"relay.Pattern", &Object::info};
  static void fields(auto f) { f("span", &PatternNode::span, Ignored | Optional); }
};
using Pattern = Ref<PatternNode>;

/// `_`: any value.
struct PatternWildcard : PatternNode {
  static constexpr NodeInfo info{"relay.PatternWildcard", &PatternNode::info};
  static void fields(auto) {}
};

/// Any value, which `var` names in the clause.
struct PatternVar : PatternNode {
  Var var;
  static constexpr NodeInfo info{"relay.PatternVar", &PatternNode::info};
  static void fields(auto f) { f("var", &PatternVar::var, Binds); }
};

struct PatternConstructor : PatternNode {
  Constructor constructor;
  Array<Pattern> patterns;
  static constexpr NodeInfo info{"relay.PatternConstructor", &PatternNode::info};
  static void fields(auto f) {
    f("constructor", &PatternConstructor::constructor);
    f("patterns", &PatternConstructor::patterns);
  }
};

struct PatternTuple : PatternNode {
  Array<Pattern> patterns;
  static constexpr NodeInfo info{"relay.PatternTuple", &PatternNode::info};
  static void fields(auto f) { f("patterns", &PatternTuple::patterns); }
};

struct ClauseNode : Object {
  Pattern lhs;
  Expr rhs;
  static constexpr NodeInfo info{"relay.Clause", &Object::info};
  static void fields(auto f) {
    f("lhs", &ClauseNode::lhs);
    f("rhs", &ClauseNode::rhs);
  }
};
using Clause = Ref<ClauseNode>;

/// The value of the first clause whose pattern fits. A `complete` match has a clause for every value of the type.
struct Match : RelayExprNode {
  Expr data;
  Array<Clause> clauses;
  bool complete = true;
  static constexpr NodeInfo info{"relay.Match", &RelayExprNode::info, Role::Dag};
  static void fields(auto f) {
    f("data", &Match::data);
    f("clauses", &Match::clauses);
    f("complete", &Match::complete);
  }
};

}  // namespace tessera::relay
