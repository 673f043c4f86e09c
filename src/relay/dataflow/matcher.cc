#include "relay/dataflow/matcher.h"

#include <algorithm>

#include "base/stack.h"
#include "ir/structural/equal.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"

namespace tessera::relay {

// ---- the graph -------------------------------------------------------------------------------------------------------

DataflowGraph::DataflowGraph(const Expr& root) {
  post_order(
      root,
      [&](const Expr& expr) {
        index_.emplace(expr.get(), nodes_.size());
        Node node;
        node.expr = expr;
        node.index = nodes_.size();
        nodes_.push_back(std::move(node));
      },
      true);
  for (Node& node : nodes_) {
    auto add = [&](const Expr& part) {
      size_t input = index_.at(part.get());
      node.inputs.push_back(input);
      nodes_[input].outputs.push_back(node.index);
    };
    each_binder(node.expr, add);
    each_child(node.expr, add);
  }
  // Users come after what they use, so that one walk from the root finds the node where all ways meet.
  dominated_.resize(nodes_.size());
  std::vector<size_t> depth(nodes_.size(), 0);
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    for (size_t output : node.outputs) {
      if (output <= i) continue;  // a recursive use
      size_t other = output;
      if (!node.has_user) {
        node.user = other;
        node.has_user = true;
        continue;
      }
      while (node.user != other) {
        size_t& deeper = depth[node.user] >= depth[other] ? node.user : other;
        if (!nodes_[deeper].has_user) break;
        deeper = nodes_[deeper].user;
      }
    }
    if (!node.has_user) continue;
    depth[i] = depth[node.user] + 1;
    dominated_[node.user].push_back(i);
  }
}

const DataflowGraph::Node* DataflowGraph::find(const Expr& expr) const {
  auto it = index_.find(expr.get());
  return it == index_.end() ? nullptr : &nodes_[it->second];
}

// ---- matching --------------------------------------------------------------------------------------------------------

namespace {

Type type_of(const Expr& expr) {
  if (expr->checked_type_) return expr->checked_type_;
  return checked_type(infer_type(expr));
}

const OpNode* pattern_op(const CallPattern* pattern) {
  const Object* op = pattern->op.get();
  while (auto* attrs = cast_or_null<AttrPattern>(op)) op = attrs->pattern.get();
  auto* exact = cast_or_null<ExprPattern>(op);
  return exact ? exact->expr.as<OpNode>() : nullptr;
}
bool is_call_of(const DFPattern& pattern, const char* name) {
  auto* call = pattern.as<CallPattern>();
  auto* op = call ? pattern_op(call) : nullptr;
  return op && op->name == name;
}
bool is_call_of(const Expr& expr, const char* name) {
  auto* call = expr.as<Call>();
  auto* op = call ? call->op.as<OpNode>() : nullptr;
  return op && op->name == name;
}

DFPattern call_pattern(const DFPattern& op, Array<DFPattern> args) {
  CallPattern node;
  node.op = op;
  node.args = std::move(args);
  return make(std::move(node));
}

/// Numbers by value, whatever their width; all else by structure.
bool same_attribute(const ObjectRef& wanted, const Any& found) {
  ObjectRef other = box(found);
  if (!wanted || !other) return !wanted && !other;
  if (auto* a = wanted.as<IntImm>()) {
    if (auto* b = other.as<IntImm>()) return a->value == b->value;
    if (auto* b = other.as<FloatImm>()) return static_cast<double>(a->value) == b->value;
  }
  if (auto* a = wanted.as<FloatImm>()) {
    if (auto* b = other.as<FloatImm>()) return a->value == b->value;
    if (auto* b = other.as<IntImm>()) return a->value == static_cast<double>(b->value);
  }
  if (auto *a = wanted.as<ArrayNode>(), *b = other.as<ArrayNode>(); a && b) {
    if (a->items.size() != b->items.size()) return false;
    for (size_t i = 0; i < a->items.size(); ++i)
      if (!same_attribute(a->items[i], Any::of_object(b->items[i].get()))) return false;
    return true;
  }
  return structural_equal(wanted, other);
}

}  // namespace

bool DFMatcher::match(const DFPattern& pattern, const Expr& expr) {
  memo_.clear();
  order_.clear();
  memoize_ = true;
  return visit(pattern, expr);
}

MatchedNodes DFMatcher::matched() const {
  MatchedNodes out;
  for (const DFPattern& pattern : order_) {
    auto found = memo_.find(pattern.get());
    if (found != memo_.end()) out.set(pattern, Array<Expr>(found->second));
  }
  return out;
}

void DFMatcher::forget(size_t mark) {
  for (; order_.size() > mark; order_.pop_back()) memo_.erase(order_.back().get());
}

bool DFMatcher::visit(const DFPattern& pattern, const Expr& expr) {
  if (!pattern || !expr) return false;
  if (memoize_) {
    if (auto known = memo_.find(pattern.get()); known != memo_.end() && !known->second.empty())
      return known->second.front().same_as(expr);
  }
  size_t mark = order_.size();
  if (!on_enough_stack([&] { return test(pattern, expr); })) {
    forget(mark);
    return false;
  }
  memo_[pattern.get()].push_back(expr);
  order_.push_back(pattern);
  return true;
}

bool DFMatcher::visit_all(const Array<DFPattern>& patterns, const std::vector<Expr>& exprs) {
  if (!patterns.defined()) return true;  // anything goes
  if (patterns.size() != exprs.size()) return false;
  size_t mark = order_.size();
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (visit(patterns[i], exprs[i])) continue;
    forget(mark);
    return false;
  }
  return true;
}

bool DFMatcher::test(const DFPattern& pattern, const Expr& expr) {
  if (pattern.as<WildcardPattern>()) return true;
  if (auto* p = pattern.as<CallPattern>()) return visit_call(p, expr);
  if (auto* p = pattern.as<ExprPattern>()) return structural_equal(p->expr, expr);
  if (pattern.as<ConstantPattern>()) return expr.as<Constant>();
  if (auto* p = pattern.as<AltPattern>()) return visit(p->left, expr) || visit(p->right, expr);
  if (auto* p = pattern.as<AttrPattern>()) return visit_attrs(p, expr);
  if (auto* p = pattern.as<DominatorPattern>()) return visit_dominator(p, expr);
  if (auto* p = pattern.as<VarPattern>()) {
    auto* var = expr.as<VarNode>();
    return var && (p->name.empty() || p->name == var->name_hint());
  }
  if (auto* p = pattern.as<TuplePattern>()) {
    auto* tuple = expr.as<Tuple>();
    return tuple && visit_all(p->fields_, tuple->fields_.vec());
  }
  if (auto* p = pattern.as<TupleGetItemPattern>()) {
    auto* item = expr.as<TupleGetItem>();
    return item && (p->index == -1 || p->index == item->index) && visit(p->tuple, item->tuple);
  }
  if (auto* p = pattern.as<FunctionPattern>()) {
    auto* function = expr.as<FunctionNode>();
    if (!function) return false;
    std::vector<Expr> params(function->params.begin(), function->params.end());
    return visit_all(p->params, params) && visit(p->body, function->body);
  }
  if (auto* p = pattern.as<IfPattern>()) {
    auto* branch = expr.as<If>();
    return branch && visit(p->cond, branch->cond) && visit(p->true_branch, branch->true_branch) &&
           visit(p->false_branch, branch->false_branch);
  }
  if (auto* p = pattern.as<LetPattern>()) {
    auto* let = expr.as<Let>();
    return let && visit(p->var, let->var) && visit(p->value, let->value) && visit(p->body, let->body);
  }
  if (auto* p = pattern.as<TypePattern>()) return structural_equal(p->wanted, type_of(expr)) && visit(p->pattern, expr);
  if (auto* p = pattern.as<ShapePattern>()) {
    Type type = type_of(expr);
    auto* tensor = type.as<TensorTypeNode>();
    return tensor && structural_equal(p->shape, tensor->shape) && visit(p->pattern, expr);
  }
  if (auto* p = pattern.as<DataTypePattern>()) {
    Type type = type_of(expr);
    auto* tensor = type.as<TensorTypeNode>();
    return tensor && tensor->dtype == p->dtype && visit(p->pattern, expr);
  }
  throw Error(TypeError) << "there is no way to match a " << pattern->type_key();
}

bool DFMatcher::visit_attrs(const AttrPattern* pattern, const Expr& expr) {
  if (!visit(pattern->pattern, expr)) return false;
  const Map<String, ObjectRef>& wanted = pattern->attrs->dict;
  if (auto* op = expr.as<OpNode>()) {
    for (const auto& [key, value] : wanted)
      if (!Op(op).has(key.str()) || !same_attribute(value, Op(op).slot(key.str()))) return false;
    return true;
  }
  if (auto* call = expr.as<Call>()) {
    for (const auto& [key, value] : wanted) {
      if (!call->attrs) return false;
      if (auto* dict = call->attrs.as<DictAttrsNode>()) {
        if (!dict->dict.count(key) || !same_attribute(value, Any::of_object(dict->dict[key].get()))) return false;
        continue;
      }
      const Field* field = call->attrs->type()->find(key);
      if (!field || !same_attribute(value, get_field(call->attrs.get(), *field))) return false;
    }
    return true;
  }
  if (auto* function = expr.as<FunctionNode>()) {
    for (const auto& [key, value] : wanted)
      if (!function->attrs.has(key) || !structural_equal(value, function->attrs.get_attr(key))) return false;
    return true;
  }
  return wanted.empty();
}

bool DFMatcher::visit_call(const CallPattern* pattern, const Expr& expr) {
  auto* call = expr.as<Call>();
  if (!call) return false;
  size_t mark = order_.size();
  if (visit(pattern->op, call->op)) {
    if (visit_all(pattern->args, call->args.vec())) return true;
    auto* op = call->op.as<OpNode>();
    bool commutes = op && has_flag(op, kIsCommutative);
    if (commutes && pattern->args.defined() && pattern->args.size() == 2 &&
        visit_all({pattern->args[1], pattern->args[0]}, call->args.vec()))
      return true;
    forget(mark);
    return false;
  }
  forget(mark);
  if (!pattern->args.defined() || pattern->args.size() != 2 || call->args.size() != 2) return false;
  auto has_operand = [&](const char* name) {
    return is_call_of(call->args[0], name) || is_call_of(call->args[1], name);
  };
  // (a * b) / c  is also  a * (b / c)
  if (is_call_of(DFPattern(pattern), ops::divide) && is_call_of(pattern->args[0], ops::multiply) &&
      is_call_of(expr, ops::multiply) && has_operand(ops::divide)) {
    auto* product = pattern->args[0].as<CallPattern>();
    if (!product->args.defined() || product->args.size() != 2) return false;
    for (size_t i : {0, 1}) {
      DFPattern quotient = call_pattern(pattern->op, {product->args[i], pattern->args[1]});
      if (visit(call_pattern(product->op, {product->args[1 - i], quotient}), expr)) return true;
      forget(mark);
    }
    return false;
  }
  // a * (b / c)  is also  (a * b) / c
  if (is_call_of(DFPattern(pattern), ops::multiply) && is_call_of(expr, ops::divide) && has_operand(ops::multiply)) {
    for (size_t i : {0, 1}) {
      if (!is_call_of(pattern->args[i], ops::divide)) continue;
      auto* quotient = pattern->args[i].as<CallPattern>();
      if (!quotient->args.defined() || quotient->args.size() != 2) continue;
      DFPattern product = call_pattern(pattern->op, {quotient->args[0], pattern->args[1 - i]});
      if (visit(call_pattern(quotient->op, {product, quotient->args[1]}), expr)) return true;
      forget(mark);
    }
  }
  return false;
}

bool DFMatcher::visit_dominator(const DominatorPattern* pattern, const Expr& expr) {
  if (!visit(pattern->child, expr)) return false;
  bool fits = path_fits(pattern, expr);
  memoize_ = true;
  return fits && dominates_parent(pattern, expr);
}

/// Every input, on the way up, is the parent, or part of the path and fits again.
bool DFMatcher::path_fits(const DominatorPattern* pattern, const Expr& expr) {
  const DataflowGraph::Node* node = graph_.find(expr);
  if (!node) return false;
  auto* call = expr.as<Call>();
  size_t args = 0;
  for (size_t input : node->inputs) {
    const Expr& part = graph_.nodes()[input].expr;
    if (call && part.same_as(call->op)) continue;
    ++args;
    memoize_ = true;
    if (visit(pattern->parent, part)) continue;
    memoize_ = false;
    if (!visit(pattern->path, part)) return false;
    if (!on_enough_stack([&] { return path_fits(pattern, part); })) return false;
  }
  return args > 0;
}

bool DFMatcher::dominates_parent(const DominatorPattern* pattern, const Expr& expr) {
  const DataflowGraph::Node* root = graph_.find(expr);
  if (!root) return false;
  std::vector<size_t> todo{root->index};
  std::unordered_set<size_t> seen;
  while (!todo.empty()) {
    size_t at = todo.back();
    todo.pop_back();
    for (size_t inner : graph_.dominated_by(graph_.nodes()[at])) {
      if (!seen.insert(inner).second) continue;
      if (visit(pattern->parent, graph_.nodes()[inner].expr)) return true;
      todo.push_back(inner);
    }
  }
  return false;
}

bool matches(const DFPattern& pattern, const Expr& expr) {
  DataflowGraph graph(expr);
  return DFMatcher(graph).match(pattern, expr);
}

}  // namespace tessera::relay
