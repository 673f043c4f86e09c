#include "relay/dataflow/group.h"

#include "ir/rewrite.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// A constant that the pattern itself asks for stays inside.
bool stays_inside(const Expr& expr, const DFPattern& pattern) {
  if (!expr.as<Constant>()) return false;
  if (pattern.as<ConstantPattern>()) return true;
  if (auto* exact = pattern.as<ExprPattern>()) return exact->expr.as<Constant>();
  if (auto* either = pattern.as<AltPattern>())
    return stays_inside(expr, either->left) || stays_inside(expr, either->right);
  return false;
}

/// The parts of a pattern, inner ones first.
std::vector<DFPattern> parts_of(const DFPattern& root) {
  std::vector<DFPattern> out;
  tessera::post_order(root, [&](const Object* node) {
    if (node->is_a(DFPatternNode::info)) out.push_back(DFPattern(static_cast<const DFPatternNode*>(node)));
  });
  return out;
}

bool has_parts(const DFPattern& pattern) {
  return !(pattern.as<ExprPattern>() || pattern.as<VarPattern>() || pattern.as<ConstantPattern>() ||
           pattern.as<WildcardPattern>());
}

/// Copies an expression with the inputs replaced by variables, and notes what it passed.
class Extraction {
 public:
  explicit Extraction(const std::unordered_map<const Object*, Var>& inputs) : inputs_(inputs) {}

  Expr run(const Expr& root) {
    std::vector<Expr> inside;
    collect(root, &inside);
    Rewriter copy([&](Rewriter& self, const RelayExprNode* node) -> Expr {
      if (auto it = inputs_.find(node); it != inputs_.end()) return it->second;
      Expr inside = self.children(node);
      if (inside.get() != node) inside->checked_type_ = nullptr;  // its inputs have no types yet
      return inside;
    });
    for (const Expr& expr : inside) name_ += name_part(expr);
    passed_.assign(inside.begin(), inside.end());
    return copy(root);
  }
  /// Everything inside the match, without its inputs.
  const std::vector<Expr>& passed() const { return passed_; }
  const std::string& name() const { return name_; }

 private:
  void collect(const Expr& root, std::vector<Expr>* out) {
    std::vector<std::pair<Expr, bool>> stack{{root, false}};
    std::unordered_set<const Object*> seen;
    while (!stack.empty()) {
      auto [expr, done] = stack.back();
      stack.pop_back();
      if (done) {
        out->push_back(expr);
        continue;
      }
      if (inputs_.count(expr.get()) || !seen.insert(expr.get()).second) continue;
      stack.emplace_back(expr, true);
      std::vector<Expr> parts;
      each_child(expr, [&](const Expr& part) { parts.push_back(part); });
      for (size_t i = parts.size(); i-- > 0;) stack.emplace_back(parts[i], false);
    }
  }
  static std::string name_part(const Expr& expr) {
    if (auto* call = expr.as<Call>()) {
      auto* op = call->op.as<OpNode>();
      return (op ? op->name.str() : "Call") + "_";
    }
    if (expr.as<Tuple>()) return "Tuple_";
    if (auto* item = expr.as<TupleGetItem>()) return "TupleGetItem" + std::to_string(item->index) + "_";
    if (expr.as<FunctionNode>()) return "Function";
    if (expr.as<If>()) return "If_";
    if (expr.as<Let>()) return "Let_";
    return "";
  }

  const std::unordered_map<const Object*, Var>& inputs_;
  std::vector<Expr> passed_;
  std::string name_;
};

class Grouping {
 public:
  Grouping(const DFPattern& pattern, const Expr& root, bool may_overlap)
      : pattern_(pattern), parts_(parts_of(pattern)), graph_(root), matcher_(graph_), may_overlap_(may_overlap) {}

  PatternGroups run() {
    std::unordered_set<const Object*> closed;
    const auto& nodes = graph_.nodes();
    for (size_t i = nodes.size(); i-- > 0;) {
      const Expr& expr = nodes[i].expr;
      if (grouped_.count(expr.get())) continue;
      auto* function = expr.as<FunctionNode>();
      if (function && function->attrs.has(attr::kPartitionedFromPattern))
        post_order(expr, [&](const Expr& inner) { closed.insert(inner.get()); });
      if (!closed.count(expr.get()) && matcher_.match(pattern_, expr)) add(expr);
    }
    return std::move(out_);
  }

 private:
  void add(const Expr& root) {
    PatternGroup group;
    group.root = root;
    group.matched = matcher_.matched();
    std::unordered_map<const Object*, Var> inputs;
    Array<Var> params;
    std::unordered_set<const Object*> inner = inner_of(group.matched);
    auto make_input = [&](const Expr& input, const DFPattern& part) {
      if (inner.count(input.get()) || input.as<OpNode>() || input.as<FunctionNode>() || stays_inside(input, part))
        return;
      Var var = make_local("FunctionVar_" + std::to_string(graph_number_) + "_" + std::to_string(group.args.size()));
      inputs.insert_or_assign(input.get(), var);  // one parameter for each part, which the body may use for several
      group.args.push_back(input);
      params.push_back(var);
    };
    for (const DFPattern& part : parts_) {
      Array<Expr> met = group.matched.get_or_null(part);
      if (!met.defined()) continue;
      auto* tuple = part.as<TuplePattern>();
      auto* call = part.as<CallPattern>();
      for (const Expr& expr : met) {
        if (tuple && !tuple->fields_.defined()) {
          for (const Expr& field : expr.as<Tuple>()->fields_) make_input(field, part);
        } else if (call && !call->args.defined()) {
          for (const Expr& arg : expr.as<Call>()->args) make_input(arg, part);
        } else if (!has_parts(part)) {
          make_input(expr, part);
        }
      }
    }
    ++graph_number_;
    Extraction extraction(inputs);
    Expr body = extraction.run(root);
    if (!can_be_taken(root, extraction.passed())) return;
    group.function = make_function(params, body);
    group.name = extraction.name();
    group.inside = extraction.passed();
    if (!may_overlap_)
      for (const Expr& expr : group.inside) grouped_.insert(expr.get());
    out_.by_root.emplace(root.get(), out_.groups.size());
    out_.groups.push_back(std::move(group));
  }

  /// What lies between the parts of a dominator pattern, or in the body of a function, is no input.
  std::unordered_set<const Object*> inner_of(const MatchedNodes& matched) const {
    std::unordered_set<const Object*> out;
    for (const DFPattern& part : parts_) {
      if (auto* dominator = part.as<DominatorPattern>()) {
        for (const DFPattern& inner : {dominator->parent, dominator->path})
          for (const Expr& expr : matched.get_or_null(inner)) out.insert(expr.get());
      } else if (part.as<FunctionPattern>()) {
        for (const Expr& expr : matched.get_or_null(part))
          post_order(expr.as<FunctionNode>()->body, [&](const Expr& inner) { out.insert(inner.get()); });
      }
    }
    return out;
  }

  bool can_be_taken(const Expr& root, const std::vector<Expr>& inside) const {
    std::unordered_set<const Object*> members;
    for (const Expr& expr : inside) members.insert(expr.get());
    for (const Expr& expr : inside) {
      if (expr.as<OpNode>() || expr.as<FunctionNode>() || expr.as<Constant>()) continue;
      if (grouped_.count(expr.get())) return false;
      if (expr.same_as(root)) continue;
      const DataflowGraph::Node* node = graph_.find(expr);
      for (size_t output : node->outputs)
        if (!members.count(graph_.nodes()[output].expr.get())) return false;
    }
    return true;
  }

  DFPattern pattern_;
  std::vector<DFPattern> parts_;
  DataflowGraph graph_;
  DFMatcher matcher_;
  bool may_overlap_;
  std::unordered_set<const Object*> grouped_;
  PatternGroups out_;
  int graph_number_ = 0;
};

}  // namespace

PatternGroups find_groups(const DFPattern& pattern, const Expr& root) { return Grouping(pattern, root, false).run(); }

std::vector<PatternGroup> find_overlapping_groups(const DFPattern& pattern, const Expr& root) {
  return Grouping(pattern, root, true).run().groups;
}

}  // namespace tessera::relay
