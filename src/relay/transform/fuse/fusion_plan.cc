#include "relay/transform/fuse/fusion_plan.h"

#include <algorithm>
#include <unordered_set>

#include "base/stack.h"
#include "ir/rewrite.h"
#include "ir/structural/equal.h"
#include "relay/pattern.h"
#include "relay/slots.h"

namespace tessera::relay {

bool is_number(const Constant* constant) {
  const DataType dtype = constant->data.dtype();
  return constant->is_scalar() && dtype.lanes == 1 && (dtype.is_integral() || dtype.is_floating());
}

bool computes_its_shape(const Call* call, const Op& op) {
  if (!op.has(kShapeFunc)) return false;
  bool is_dynamic = false;
  walk(checked_type(Expr(call)), [&](const AnyDim*) { is_dynamic = true; });
  return is_dynamic;
}

namespace {

struct GraphNode;

/// A use of a value: who uses it, and how hard the use is to fuse.
struct Edge {
  GraphNode* user;
  Fusion kind;
};

struct GraphNode {
  const Object* expr;
  size_t index;  // operands before users
  Fusion kind = Fusion::Opaque;
  bool is_used_outside = false;  // its value must exist in memory
  std::vector<Edge> uses;
};

Fusion harder(Fusion a, Fusion b) { return std::max(a, b); }

/// Every expression of a body with its uses, operands first.
class Graph {
 public:
  Graph(const Expr& body, bool link_constants) : link_constants_(link_constants) {
    use(body, nullptr, Fusion::Opaque);
    visit(body);
  }
  std::vector<GraphNode*> nodes;

 private:
  GraphNode* at(const Expr& expr) {
    auto& slot = by_expr_[expr.get()];
    if (!slot) slot = std::make_unique<GraphNode>(GraphNode{expr.get(), 0});
    return slot.get();
  }
  /// Notes that `user` (or something outside the graph) uses `expr`.
  void use(const Expr& expr, GraphNode* user, Fusion kind) {
    if (user) at(expr)->uses.push_back({user, kind});
    else at(expr)->is_used_outside = true;
  }
  void use_outside(const Expr& expr) {
    use(expr, nullptr, Fusion::Opaque);
    visit(expr);
  }

  void visit(const Expr& expr) {
    if (!visited_.insert(expr.get()).second) return;
    on_enough_stack([&] { children(expr, at(expr)); });
    GraphNode* node = at(expr);
    node->index = nodes.size();
    nodes.push_back(node);
  }

  void children(const Expr& expr, GraphNode* node) {
    if (auto* call = expr.as<Call>()) return visit_call(call, node);
    if (auto* constant = expr.as<Constant>()) {
      node->kind = link_constants_ || is_number(constant) ? Fusion::Elementwise : Fusion::Opaque;
    } else if (auto* tuple = expr.as<Tuple>()) {
      node->kind = Fusion::Tuple;
      for (const Expr& field : tuple->fields_) {
        bool is_tensor = checked_type(field).as<TensorTypeNode>();
        use(field, is_tensor ? node : nullptr, is_tensor ? Fusion::Injective : Fusion::Opaque);
        visit(field);
      }
    } else if (auto* get = expr.as<TupleGetItem>()) {
      auto* type = checked_type(get->tuple).as<TupleType>();
      bool all_tensors = std::all_of(type->fields_.begin(), type->fields_.end(),
                                     [](const Type& field) { return field.as<TensorTypeNode>(); });
      node->kind = all_tensors ? Fusion::Injective : Fusion::Opaque;
      use(get->tuple, all_tensors ? node : nullptr, node->kind);
      visit(get->tuple);
    } else if (auto* function = expr.as<FunctionNode>()) {
      if (function->attrs.is_true(attr::kPrimitive)) return;  // fused before
      for (const Var& param : function->params) use_outside(param);
      use_outside(function->body);
    } else if (expr.as<Let>()) {
      Expr at_let = expr;
      while (auto* let = at_let.as<Let>()) {
        if (!at_let.same_as(expr) && !visited_.insert(at_let.get()).second) return;
        use_outside(let->var);
        use_outside(let->value);
        use(let->body, nullptr, Fusion::Opaque);
        if (!at_let.same_as(expr)) {
          GraphNode* inner = at(at_let);
          inner->index = nodes.size();
          nodes.push_back(inner);
        }
        at_let = let->body;
      }
      visit(at_let);
    } else if (auto* branch = expr.as<If>()) {
      for (const Expr& part : {branch->cond, branch->true_branch, branch->false_branch}) use_outside(part);
    } else if (auto* match = expr.as<Match>()) {
      use_outside(match->data);
      for (const Clause& clause : match->clauses) use_outside(clause->rhs);
    } else if (auto* ref = expr.as<RefCreate>()) {
      use_outside(ref->value);
    } else if (auto* read = expr.as<RefRead>()) {
      use_outside(read->ref);
    } else if (auto* write = expr.as<RefWrite>()) {
      use_outside(write->ref);
      use_outside(write->value);
    }
  }

  void visit_call(const Call* call, GraphNode* node) {
    Fusion kind = Fusion::Opaque;
    if (auto* op = call->op.as<OpNode>()) kind = computes_its_shape(call, Op(op)) ? Fusion::Opaque : fusion_of(Op(op));
    node->kind = kind;
    use(call->op, nullptr, Fusion::Opaque);
    visit(call->op);
    auto* out = checked_type(Expr(call)).as<TensorTypeNode>();
    for (const Expr& arg : call->args) {
      auto* in = arg->checked_type_.as<TensorTypeNode>();  // a constructor that is a value has no type of its own
      bool same_shape = in && out && structural_equal(in->shape, out->shape);
      use(arg, node, kind == Fusion::Broadcast && same_shape ? Fusion::Elementwise : kind);
      visit(arg);
    }
  }

  bool link_constants_;
  std::unordered_map<const Object*, std::unique_ptr<GraphNode>> by_expr_;
  std::unordered_set<const Object*> visited_;
};

/// A node's position in the tree of post-dominators: all paths from it to the outside lead through `parent`.
struct Dominator {
  int parent = -1;
  int depth = 1;
  Fusion kind = Fusion::Elementwise;  // the hardest use on the paths to the parent
};

std::vector<Dominator> post_dominators(const std::vector<GraphNode*>& nodes) {
  std::vector<Dominator> tree(nodes.size());
  auto common = [&](int a, int b, Fusion* kind) {
    while (a != b) {
      if (a < 0 || b < 0) return -1;
      int depth_a = tree[a].depth, depth_b = tree[b].depth;
      if (depth_a >= depth_b) *kind = harder(*kind, tree[a].kind), a = tree[a].parent;
      if (depth_b >= depth_a) *kind = harder(*kind, tree[b].kind), b = tree[b].parent;
    }
    return a;
  };
  for (size_t i = nodes.size(); i-- > 0;) {
    const GraphNode* node = nodes[i];
    Dominator& at = tree[i];
    if (node->is_used_outside || node->uses.empty()) {
      at.kind = Fusion::Opaque;
      continue;
    }
    int parent = static_cast<int>(node->uses[0].user->index);
    at.kind = node->uses[0].kind;
    for (size_t u = 1; u < node->uses.size(); ++u) {
      parent = common(parent, static_cast<int>(node->uses[u].user->index), &at.kind);
      at.kind = harder(at.kind, node->uses[u].kind);
    }
    at.parent = parent;
    at.depth = parent < 0 ? 1 : tree[parent].depth + 1;
  }
  return tree;
}

/// Groups as they grow: a forest in which the root of a tree speaks for its group.
class Grouping {
 public:
  Grouping(const std::vector<GraphNode*>& nodes, int max_depth)
      : nodes_(nodes), tree_(post_dominators(nodes)), max_depth_(max_depth), size_(nodes.size(), 1) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      parent_.push_back(i);
      kind_.push_back(nodes_[i]->kind);
      has_anchor_.push_back(nodes_[i]->kind == Fusion::OutputElementwise);
    }
  }

  void run() {
    for (int phase = 0; phase < 3; ++phase)
      for (size_t i = 0; i < nodes_.size(); ++i) consider(i, phase);
  }

  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

 private:
  using Allows = bool (*)(Fusion kind, bool is_sink);

  void consider(size_t i, int phase) {
    if (kind_[i] == Fusion::Opaque || tree_[i].parent < 0) return;
    auto sink = static_cast<size_t>(tree_[i].parent);
    Allows allows = phase == 2 ? into_tuple(i, sink) : into_operator(i, sink, phase);
    if (allows && size_with(i, sink) <= max_depth_ && paths_allow(i, sink, allows)) merge_paths(i, sink);
  }

  /// Injective operators fuse with a tuple that has itself gone into injective operators.
  Allows into_tuple(size_t i, size_t sink) {
    Fusion group = kind_[find(sink)];
    bool fuses = kind_[i] <= Fusion::Injective && kind_[sink] == Fusion::Tuple && group <= Fusion::Injective;
    return fuses ? up_to_injective : nullptr;
  }

  /// What may lie on the paths to `sink` for `i` to be fused with it; null when it may not be.
  Allows into_operator(size_t i, size_t sink, int phase) {
    if (find(i) == find(sink) || kind_[sink] == Fusion::Tuple) return nullptr;
    switch (kind_[i]) {
      case Fusion::OutputElementwise:
        if (phase != 0 || tree_[i].kind != Fusion::Elementwise) return nullptr;
        return [](Fusion kind, bool) { return kind <= Fusion::Broadcast; };
      case Fusion::Elementwise:
      case Fusion::Broadcast:
        if (tree_[i].kind > Fusion::Reduction) return nullptr;
        return [](Fusion kind, bool is_sink) {
          bool may_end = kind == Fusion::Reduction || kind == Fusion::OutputElementwise;
          return kind <= Fusion::Injective || (is_sink && may_end);
        };
      case Fusion::Injective:
      case Fusion::Tuple: return phase == 1 ? up_to_injective : nullptr;
      default: return nullptr;  // a reduction takes nothing along
    }
  }
  static bool up_to_injective(Fusion kind, bool) { return kind <= Fusion::Injective; }

  /// Calls `step` once on each node on the paths from `from` to `sink`, itself included and the sink too; stops where
  /// it returns false, and says whether it never did.
  template <class F>
  bool each_between(size_t from, size_t sink, F step) {
    std::unordered_set<size_t> seen{from};
    std::vector<size_t> open{from};
    while (!open.empty()) {
      size_t at = open.back();
      open.pop_back();
      if (!step(at)) return false;
      if (at == sink) continue;
      for (const Edge& use : nodes_[at]->uses)
        if (seen.insert(use.user->index).second) open.push_back(use.user->index);
    }
    return true;
  }

  bool paths_allow(size_t source, size_t sink, Allows allows) {
    return each_between(source, sink, [&](size_t at) { return at == source || allows(kind_[find(at)], at == sink); });
  }

  /// How many expressions the group of `sink` would have.
  int size_with(size_t source, size_t sink) {
    int total = size_[find(sink)];
    each_between(source, sink, [&](size_t at) { return (total += at == sink ? 0 : size_[at]) <= max_depth_; });
    return total;
  }

  void merge_paths(size_t source, size_t sink) {
    size_t group = find(sink);
    each_between(source, sink, [&](size_t at) {
      size_t child = find(at);
      if (child == group) return true;
      parent_[child] = group;
      size_[group] += size_[child];
      if (has_anchor_[child]) {
        has_anchor_[group] = true;
        kind_[group] = harder(kind_[group], kind_[child]);
      }
      return true;
    });
  }

  const std::vector<GraphNode*>& nodes_;
  std::vector<Dominator> tree_;
  int max_depth_;
  std::vector<size_t> parent_;
  std::vector<Fusion> kind_;
  std::vector<bool> has_anchor_;
  std::vector<int> size_;
};

}  // namespace

FusionPlan::FusionPlan(const Expr& body, const FusionLimits& limits) {
  Graph graph(body, limits.link_constants);
  Grouping grouping(graph.nodes, limits.max_depth);
  if (limits.level > 0) grouping.run();
  for (const GraphNode* node : graph.nodes) storage_.push_back(std::make_unique<FusionGroup>(FusionGroup{node->expr}));
  for (const GraphNode* node : graph.nodes) groups_[node->expr] = storage_[grouping.find(node->index)].get();
}

}  // namespace tessera::relay
