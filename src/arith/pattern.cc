#include "arith/pattern.h"

#include <deque>
#include <mutex>

#include "arith/int_math.h"
#include "arith/rules/dsl.h"
#include "ir/prim/ops.h"
#include "ir/structural/expr_equal.h"

namespace tessera::arith {
namespace {

constexpr int kSlots = 8;

const PatNode* keep(PatNode node) {
  static auto* nodes = new std::deque<PatNode>;
  static std::mutex mutex;  // several tables of rules may be made at once
  bool constant = node.type == PatNode::Const || node.type == PatNode::Literal;
  if (node.type == PatNode::Node && (is_binary(node.kind) || node.kind == Kind::Not)) {
    constant = node.kids[0] != nullptr;
    for (const PatNode* kid : node.kids) constant = constant && (!kid || kid->constant);
  }
  node.constant = constant;
  std::lock_guard lock(mutex);
  nodes->push_back(node);
  return &nodes->back();
}

/// What a pattern's holes and constants stand for. The expressions are held by the one being matched.
struct Match {
  const PrimExprNode* exprs[kSlots] = {};
  int64_t constants[kSlots] = {};
  uint32_t known_constants = 0;
  DataType dtype;  // of the numbers
};

bool match_constant(const PatNode* pattern, int64_t value, Match* m) {
  uint32_t bit = 1u << pattern->index;
  if (m->known_constants & bit) return m->constants[pattern->index] == value;
  m->known_constants |= bit;
  m->constants[pattern->index] = value;
  return true;
}

bool match(const PatNode* pattern, const PrimExprNode* e, Match* m) {
  switch (pattern->type) {
    case PatNode::Hole: {
      const PrimExprNode*& slot = m->exprs[pattern->index];
      if (slot) return slot == e || expr_equal(slot, e);
      slot = e;
      return true;
    }
    case PatNode::Const:
    case PatNode::Literal:
    case PatNode::Truth: {
      if (kind_of(e) != Kind::IntImm) return false;
      bool is_truth = e->dtype.is_bool();
      if (is_truth != (pattern->type == PatNode::Truth)) return false;
      int64_t value = static_cast<const IntImm*>(e)->value;
      if (!is_truth) m->dtype = e->dtype;
      return pattern->type == PatNode::Const ? match_constant(pattern, value, m) : pattern->value == value;
    }
    default: break;
  }
  if (kind_of(e) != pattern->kind) return false;
  switch (pattern->kind) {
    case Kind::Not: return match(pattern->kids[0], static_cast<const Not*>(e)->a.get(), m);
    case Kind::Select: {
      const auto* node = static_cast<const Select*>(e);
      return match(pattern->kids[0], node->condition.get(), m) && match(pattern->kids[1], node->true_value.get(), m) &&
             match(pattern->kids[2], node->false_value.get(), m);
    }
    case Kind::Ramp: {
      const auto* node = static_cast<const Ramp*>(e);
      return match(pattern->kids[0], node->base.get(), m) && match(pattern->kids[1], node->stride.get(), m) &&
             match_constant(pattern->kids[2], node->lanes, m);
    }
    case Kind::Broadcast: {
      const auto* node = static_cast<const Broadcast*>(e);
      return match(pattern->kids[0], node->value.get(), m) && match_constant(pattern->kids[1], node->lanes, m);
    }
    default: {
      const auto* node = static_cast<const BinaryNode*>(e);
      DataType dtype = node->a->dtype;
      // NaN is neither less nor more: only the order of integers is total
      if (is_comparison(pattern->kind) && dtype.is_floating() && pattern->kids[0]->type != PatNode::Node) return false;
      if (!dtype.is_bool()) m->dtype = dtype.element();
      return match(pattern->kids[0], node->a.get(), m) && match(pattern->kids[1], node->b.get(), m);
    }
  }
}

/// The expression a pattern stands for; empty when a constant in it cannot be written down.
PrimExpr build(const PatNode* pattern, const Match& m) {
  if (pattern->constant) {
    MaybeInt value = evaluate_constant(pattern, m.constants);
    if (!value || !fits(m.dtype, *value)) return nullptr;
    return int_imm(m.dtype, *value);
  }
  if (pattern->type == PatNode::Hole) return PrimExpr(m.exprs[pattern->index]);
  if (pattern->type == PatNode::Truth) return bool_imm(pattern->value != 0);
  PrimExpr kids[3];
  bool is_vector = pattern->kind == Kind::Ramp || pattern->kind == Kind::Broadcast;
  int count = pattern->kids[2] ? 3 : pattern->kids[1] ? 2 : 1;
  if (is_vector) --count;  // the lanes come last
  for (int i = 0; i < count; ++i) {
    kids[i] = build(pattern->kids[i], m);
    if (!kids[i].defined()) return nullptr;
  }
  switch (pattern->kind) {
    case Kind::Not: return not_node(kids[0]);
    case Kind::Select: return select_node(kids[0], kids[1], kids[2]);
    case Kind::Ramp:
    case Kind::Broadcast: {
      MaybeInt lanes = evaluate_constant(pattern->kids[count], m.constants);
      if (!lanes || *lanes < 1 || *lanes > 65535) return nullptr;
      if (*lanes == 1) return kids[0];
      return pattern->kind == Kind::Ramp ? make_ramp(kids[0], kids[1], static_cast<int>(*lanes))
                                         : make_broadcast(kids[0], static_cast<int>(*lanes));
    }
    default: return make_node(pattern->kind, kids[0], kids[1]);
  }
}

bool holds(const PatNode* condition, const Match& m, Prover& prover) {
  switch (condition->type) {
    case PatNode::Truth: return condition->value != 0;
    case PatNode::Proven: {
      PrimExpr e = build(condition->kids[0], m);
      return e.defined() && prover.proves(e);
    }
    case PatNode::InRange: {
      PrimExpr e = build(condition->kids[0], m);
      MaybeInt low = evaluate_constant(condition->kids[1], m.constants);
      MaybeInt high = evaluate_constant(condition->kids[2], m.constants);
      if (!e.defined() || !low || !high || *high == INT64_MIN) return false;
      return prover.bound_of(e).within(*low, *high - 1);
    }
    case PatNode::Multiple: {
      PrimExpr e = build(condition->kids[0], m);
      MaybeInt of = evaluate_constant(condition->kids[1], m.constants);
      return e.defined() && of && *of != 0 && *of != -1 && prover.modular_of(e).is_multiple_of(*of);
    }
    case PatNode::NoExtremum: {
      Kind kind = kind_of(m.exprs[condition->kids[0]->index]);
      return kind != Kind::Min && kind != Kind::Max;
    }
    default: break;
  }
  if (condition->constant) {
    MaybeInt value = evaluate_constant(condition, m.constants);
    return value && *value;
  }
  if (condition->kind == Kind::And) return holds(condition->kids[0], m, prover) && holds(condition->kids[1], m, prover);
  if (condition->kind == Kind::Or) return holds(condition->kids[0], m, prover) || holds(condition->kids[1], m, prover);
  ICHECK(false) << "conditions on expressions are proven(...), in_range(...) or multiple(...)";
  return false;
}

bool is_extremum(Kind kind) { return kind == Kind::Min || kind == Kind::Max; }

/// The first commutative operator of a pattern, from the top: of `like`'s kind, or its counterpart among min and max.
const PatNode* first_commutative(const PatNode* node, const PatNode* like = nullptr) {
  if (!node || node->type != PatNode::Node || node->constant) return nullptr;
  bool alike = !like || node->kind == like->kind || (is_extremum(node->kind) && is_extremum(like->kind));
  if (is_commutative(node->kind) && alike) return node;
  for (const PatNode* kid : node->kids)
    if (const PatNode* found = first_commutative(kid, like)) return found;
  return nullptr;
}

/// `node` with the operands of `at` exchanged.
const PatNode* exchange(const PatNode* node, const PatNode* at) {
  if (!node || node->type != PatNode::Node) return node;
  PatNode copy = *node;
  if (node == at) std::swap(copy.kids[0], copy.kids[1]);
  else
    for (const PatNode*& kid : copy.kids) kid = exchange(kid, at);
  return keep(copy);
}

struct Ordered {
  const PatNode* node;
  bool exchanged;  // the operands of the node that was asked about
};

/// All ways to write `node` with the operands of its commutative operators in either order.
std::vector<Ordered> orders(const PatNode* node, const PatNode* asked) {
  if (node->type != PatNode::Node || node->constant) return {{node, false}};
  std::vector<std::pair<PatNode, bool>> partial{{*node, false}};
  for (int i = 0; i < 3 && node->kids[i]; ++i) {
    std::vector<std::pair<PatNode, bool>> next;
    for (const Ordered& kid : orders(node->kids[i], asked))
      for (auto [copy, exchanged] : partial) {
        copy.kids[i] = kid.node;
        next.emplace_back(copy, exchanged || kid.exchanged);
      }
    partial = std::move(next);
  }
  std::vector<Ordered> out;
  for (const auto& [copy, exchanged] : partial) {
    out.push_back({keep(copy), exchanged});
    // x + y and y + x are the same pattern up to names when both operands are fresh holes
    bool alike = copy.kids[1] && copy.kids[0]->type == PatNode::Hole && copy.kids[1]->type == PatNode::Hole &&
                 copy.kids[0]->index == copy.kids[1]->index;
    if (is_commutative(copy.kind) && !alike) {
      PatNode swapped = copy;
      std::swap(swapped.kids[0], swapped.kids[1]);
      out.push_back({keep(swapped), exchanged || node == asked});
    }
  }
  return out;
}

Kind kind_needed(const PatNode* node) {
  switch (node->type) {
    case PatNode::Hole: return Kind::Other;
    case PatNode::Node: return node->kind;
    default: return Kind::IntImm;
  }
}

const PrimExprNode* kid(const PrimExpr& e, Kind kind, int i) {
  switch (kind) {
    case Kind::Not: return i == 0 ? static_cast<const Not*>(e.get())->a.get() : nullptr;
    case Kind::Select:
      return i == 0 ? static_cast<const Select*>(e.get())->condition.get()
                    : static_cast<const Select*>(e.get())->true_value.get();
    default: return i == 0 ? as_binary(e)->a.get() : as_binary(e)->b.get();
  }
}

}  // namespace

Pat::Pat(int value) : node_(keep({.type = PatNode::Literal, .value = value})) {}
Pat::Pat(bool value) : node_(keep({.type = PatNode::Truth, .value = value})) {}

Pat hole(int index) { return Pat(keep({.type = PatNode::Hole, .index = static_cast<uint8_t>(index)})); }
Pat constant(int index) { return Pat(keep({.type = PatNode::Const, .index = static_cast<uint8_t>(index)})); }
Pat node(Kind kind, Pat a, Pat b, Pat c) {
  return Pat(keep({.type = PatNode::Node, .kind = kind, .kids = {a.get(), b.get(), c.get()}}));
}
Pat condition(PatNode::Type type, Pat a, Pat b, Pat c) {
  return Pat(keep({.type = type, .kids = {a.get(), b.get(), c.get()}}));
}

std::optional<int64_t> evaluate_constant(const PatNode* node, const int64_t* constants) {
  switch (node->type) {
    case PatNode::Const: return constants[node->index];
    case PatNode::Literal: return node->value;
    default: break;
  }
  MaybeInt a = evaluate_constant(node->kids[0], constants);
  if (node->kind == Kind::Not) return a ? MaybeInt(!*a) : a;
  // a guard such as c2 != 0 && c1 % c2 == 0 stops before the division
  if (a && node->kind == Kind::And && !*a) return 0;
  if (a && node->kind == Kind::Or && *a) return 1;
  MaybeInt b = evaluate_constant(node->kids[1], constants);
  return a && b ? evaluate(node->kind, *a, *b) : MaybeInt();
}

RuleSet::RuleSet(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (const Rule& rule : rules_) {
    const PatNode* after = rule.after.get();
    if (!rule.every_order) {
      add(rule.before.get(), after, &rule);
      continue;
    }
    const PatNode* target = rule.mirrored ? first_commutative(after) : nullptr;
    const PatNode* source = target ? first_commutative(rule.before.get(), target) : nullptr;
    ICHECK(source || !rule.mirrored) << to_text(rule.before.get()) << " has no operands to mirror";
    const PatNode* mirrored = source ? exchange(after, target) : after;
    for (const Ordered& before : orders(rule.before.get(), source))
      add(before.node, before.exchanged ? mirrored : after, &rule);
  }
}

void RuleSet::add(const PatNode* before, const PatNode* after, const Rule* rule) {
  ICHECK(before->type == PatNode::Node) << "a rule rewrites an operator";
  Kind first = kind_needed(before->kids[0]);
  Kind second = before->kids[1] ? kind_needed(before->kids[1]) : Kind::Other;
  auto& rows = candidates_[static_cast<int>(before->kind)];
  for (int kind = 0; kind < kKinds; ++kind)
    if (first == Kind::Other || static_cast<int>(first) == kind) rows[kind].push_back({before, after, rule, second});
}

PrimExpr RuleSet::apply(const PrimExpr& e, Prover& prover) const {
  Kind kind = kind_of(e);
  const PrimExprNode* first = kid(e, kind, 0);
  const PrimExprNode* second = kid(e, kind, 1);
  Kind second_kind = second ? kind_of(second) : Kind::Other;
  for (const Variant& variant : candidates_[static_cast<int>(kind)][static_cast<int>(kind_of(first))]) {
    if (variant.second != Kind::Other && variant.second != second_kind) continue;
    Match m;
    if (kind == Kind::Select) m.dtype = e.dtype();
    if (!match(variant.before, e.get(), &m)) continue;
    const PatNode* condition = variant.rule->condition.get();
    if (condition && !holds(condition, m, prover)) continue;
    if (PrimExpr out = build(variant.after, m)) return out;
  }
  return nullptr;
}

std::string to_text(const PatNode* node) {
  if (!node) return "always";
  static const char* const names[] = {
      "?",  "var", "int", "+",  "-", "*",  "/",  "%",  "floordiv", "floormod", "min",  "max",
      "==", "!=",  "<",   "<=", ">", ">=", "&&", "||", "!",        "select",   "ramp", "broadcast"};
  switch (node->type) {
    case PatNode::Hole: return std::string(1, "xyzuvpq?"[node->index]);
    case PatNode::Const: return "c" + std::to_string(node->index);
    case PatNode::Literal: return std::to_string(node->value);
    case PatNode::Truth: return node->value ? "true" : "false";
    default: break;
  }
  std::string name = node->type == PatNode::Proven       ? "proven"
                     : node->type == PatNode::InRange    ? "in_range"
                     : node->type == PatNode::Multiple   ? "multiple"
                     : node->type == PatNode::NoExtremum ? "no_extremum"
                                                         : names[static_cast<int>(node->kind)];
  std::string out = name + "(";
  for (int i = 0; i < 3 && node->kids[i]; ++i) out += (i ? ", " : "") + to_text(node->kids[i]);
  return out + ")";
}

}  // namespace tessera::arith
