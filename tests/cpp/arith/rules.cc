// Every rule of the tables is tried on all small numbers: where its condition holds and the left side is defined, the
// right side must be the same.

#include <gtest/gtest.h>

#include <set>

#include "arith/pattern.h"

namespace tessera::arith {
namespace {

struct Values {
  int64_t holes[8] = {}, constants[8] = {};
};
using Vector = std::optional<std::vector<int64_t>>;

Vector one(int64_t v) { return std::vector<int64_t>{v}; }

void collect(const PatNode* node, std::set<int>* holes, std::set<int>* constants) {
  if (!node) return;
  if (node->type == PatNode::Hole) holes->insert(node->index);
  if (node->type == PatNode::Const) constants->insert(node->index);
  for (const PatNode* kid : node->kids) collect(kid, holes, constants);
}

/// A pattern's value as lanes; a scalar has one.
Vector eval(const PatNode* node, const Values& at) {
  switch (node->type) {
    case PatNode::Hole: return one(at.holes[node->index]);
    case PatNode::Const: return one(at.constants[node->index]);
    case PatNode::Literal:
    case PatNode::Truth: return one(node->value);
    case PatNode::Proven: return eval(node->kids[0], at);
    case PatNode::InRange: {
      Vector e = eval(node->kids[0], at), low = eval(node->kids[1], at), high = eval(node->kids[2], at);
      if (!e || !low || !high) return {};
      return one((*low)[0] <= (*e)[0] && (*e)[0] < (*high)[0]);
    }
    case PatNode::NoExtremum: return one(1);
    case PatNode::Multiple: {
      Vector e = eval(node->kids[0], at), of = eval(node->kids[1], at);
      if (!e || !of || (*of)[0] == 0) return {};
      return one((*e)[0] % (*of)[0] == 0);
    }
    default: break;
  }
  Vector a = eval(node->kids[0], at);
  if (!a) return {};
  if (node->kind == Kind::And && a->size() == 1 && !(*a)[0]) return one(0);
  if (node->kind == Kind::Or && a->size() == 1 && (*a)[0]) return one(1);
  if (node->kind == Kind::Not) {
    for (int64_t& v : *a) v = !v;
    return a;
  }
  Vector b = eval(node->kids[1], at);
  if (!b) return {};
  std::vector<int64_t> out;
  if (node->kind == Kind::Ramp) {
    for (int64_t i = 0; i < at.constants[0]; ++i) out.push_back((*a)[0] + i * (*b)[0]);
    return out;
  }
  if (node->kind == Kind::Broadcast) return std::vector<int64_t>(at.constants[0], (*a)[0]);
  if (node->kind == Kind::Select) {
    Vector c = eval(node->kids[2], at);
    if (!c) return {};
    for (size_t i = 0; i < b->size(); ++i) out.push_back((*a)[a->size() == 1 ? 0 : i] ? (*b)[i] : (*c)[i]);
    return out;
  }
  for (size_t i = 0; i < std::max(a->size(), b->size()); ++i) {
    auto v = evaluate(node->kind, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!v) return {};
    out.push_back(*v);
  }
  return out;
}

struct Verdict {
  int held = 0;       // on how many assignments the condition held
  std::string wrong;  // the first where the sides differ
};

Verdict check(const Rule& rule) {
  std::set<int> holes, constants;
  collect(rule.before.get(), &holes, &constants);
  std::set<int> more_holes, more_constants;
  collect(rule.after.get(), &more_holes, &more_constants);
  collect(rule.condition.get(), &more_holes, &more_constants);
  for (int h : more_holes) EXPECT_TRUE(holes.count(h)) << "a hole of the right side is not on the left";
  for (int c : more_constants) EXPECT_TRUE(constants.count(c)) << "a constant of the right side is not on the left";

  std::vector<std::pair<int64_t*, std::vector<int64_t>>> axes;
  Values at;
  size_t unknowns = holes.size() + constants.size();
  std::vector<int64_t> wide, some{-7, -3, -2, -1, 0, 1, 2, 4, 5, 8}, few{-8, -3, -1, 0, 2, 7}, fewer{-3, 0, 2, 5};
  for (int64_t v = -8; v <= 8; ++v) wide.push_back(v);
  const auto& numbers = unknowns <= 3 ? wide : unknowns == 4 ? some : unknowns == 5 ? few : fewer;
  const auto& factors = unknowns <= 3 ? wide : unknowns <= 5 ? some : few;
  for (int h : holes) axes.emplace_back(&at.holes[h], h >= 5 ? std::vector<int64_t>{0, 1} : numbers);
  for (int c : constants) axes.emplace_back(&at.constants[c], c == 0 ? std::vector<int64_t>{2, 4} : factors);
  std::vector<size_t> digit(axes.size(), 0);
  Verdict verdict;
  while (true) {
    for (size_t i = 0; i < axes.size(); ++i) *axes[i].first = axes[i].second[digit[i]];
    Vector before = eval(rule.before.get(), at);
    bool applies = before.has_value();
    if (applies && rule.condition.get()) {
      Vector condition = eval(rule.condition.get(), at);
      applies = condition && (*condition)[0];
    }
    if (applies) {
      ++verdict.held;
      Vector after = eval(rule.after.get(), at);
      if (after != before) {
        std::string where;
        for (int h : holes) where += " hole " + std::to_string(h) + "=" + std::to_string(at.holes[h]);
        for (int c : constants) where += " c" + std::to_string(c) + "=" + std::to_string(at.constants[c]);
        verdict.wrong = to_text(rule.before.get()) + "  =>  " + to_text(rule.after.get()) + "  when " +
                        to_text(rule.condition.get()) + "  is wrong at" + where;
        return verdict;
      }
    }
    size_t i = 0;
    while (i < axes.size() && ++digit[i] == axes[i].second.size()) digit[i++] = 0;
    if (i == axes.size()) return verdict;
  }
}

void check_all(const RuleSet& set) {
  for (const Rule& rule : set.rules()) {
    Verdict verdict = check(rule);
    EXPECT_EQ(verdict.wrong, "");
    EXPECT_GT(verdict.held, 0) << to_text(rule.before.get()) << " never applies: its test says nothing";
  }
}

TEST(Rules, EveryScalarRuleHoldsOnSmallNumbers) {
  ASSERT_GT(scalar_rules().rules().size(), 200u);
  check_all(scalar_rules());
}

TEST(Rules, EveryVectorRuleHoldsOnSmallNumbers) { check_all(vector_rules()); }

TEST(Rules, AWrongRuleIsFound) {
  const PatNode x{.type = PatNode::Hole, .index = 0}, unit{.type = PatNode::Literal, .constant = true, .value = 1};
  const PatNode sum{.type = PatNode::Node, .kind = Kind::Add, .kids = {&x, &unit}};
  EXPECT_NE(check({Pat(&sum), Pat(&x), Pat()}).wrong, "");
}

}  // namespace
}  // namespace tessera::arith
