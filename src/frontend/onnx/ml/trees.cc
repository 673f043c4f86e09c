#include "frontend/onnx/ml/trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/dtypes.h"
#include "frontend/common/parts.h"
#include "relay/attrs/index.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "runtime/function/element.h"

namespace tessera::onnx {
namespace {

using namespace relay;  // NOLINT: makers of calls

enum Mode { Leq, Lt, Gte, Gt, Eq, Neq, Member };

/// Trees as one table of nodes. All rows go down all trees at once, a level at a time; a leaf leads to itself.
struct Forest {
  std::vector<int64_t> features, modes, yes, no, tracks, sets;  // sets: the row of `members` of a node
  std::vector<double> splits;
  std::vector<std::vector<double>> members;
  std::vector<int64_t> roots;
  int64_t depth = 0;
  // What a node gives to each target; nothing but for leaves.
  std::vector<std::vector<std::pair<int64_t, double>>> gives;
  int64_t targets = 1;

  int64_t add_node(int64_t feature, int64_t mode, double split, bool tracks_true) {
    features.push_back(feature);
    modes.push_back(mode);
    splits.push_back(split);
    tracks.push_back(tracks_true);
    sets.push_back(0);
    auto index = static_cast<int64_t>(yes.size());
    yes.push_back(index);
    no.push_back(index);
    gives.emplace_back();
    return index;
  }
};

/// The longest way from a root to a leaf; an error where a way comes back to itself or leads out of the table.
void measure(Operation& in, Forest* forest) {
  auto count = static_cast<int64_t>(forest->yes.size());
  for (const auto* list : {&forest->yes, &forest->no, &forest->roots})
    for (int64_t index : *list)
      if (index < 0 || index >= count) in.invalid("a branch leads to a node that does not exist");
  std::vector<int64_t> level = forest->roots;
  while (!level.empty()) {
    std::vector<int64_t> next;
    for (int64_t index : level) {
      auto at = static_cast<size_t>(index);
      for (int64_t to : {forest->yes[at], forest->no[at]})
        if (to != index) next.push_back(to);
    }
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    level = std::move(next);
    if (!level.empty() && ++forest->depth > std::min<int64_t>(count, 512))
      in.invalid("a tree that is deeper than 512 levels, or goes round");
  }
}

class Descent {
 public:
  Descent(Operation& in, const Forest& forest, Expr x)
      : in_(in),
        forest_(forest),
        dtype_(in.dtype(x)),
        x_(std::move(x)),
        count_(static_cast<int64_t>(forest.yes.size())) {}

  /// The leaves (rows, trees).
  Expr leaves() {
    Expr roots = reshape_to(make_ints(forest_.roots), {1, static_cast<int64_t>(forest_.roots.size())});
    Expr node = add(roots, cast(multiply(slice(zeros_like(x_), 1, 0, 1), make_scalar(0, dtype_)), kInt64));
    for (int64_t level = 0; level < forest_.depth; ++level) {
      Expr feature = of_nodes(make_ints(forest_.features), node);
      Expr value =
          call_op("gather", {x_, feature}, make_attrs<GatherAttrs>([](auto& attrs) { attrs.axis = PrimExpr(1); }));
      Expr is_true = decided(node, value);
      if (std::count(forest_.tracks.begin(), forest_.tracks.end(), 1))
        is_true = call_op(
            "logical_or",
            {is_true, call_op("logical_and", {call_op("isnan", {value}),
                                              equal(of_nodes(make_ints(forest_.tracks), node), make_ints({1}))})});
      // A kernel for each level, and the same one: fused, a level would be computed again for each use of its nodes.
      node = call_op("annotation.stop_fusion",
                     {where(is_true, of_nodes(make_ints(forest_.yes), node), of_nodes(make_ints(forest_.no), node))});
    }
    return node;
  }

 private:
  Expr of_nodes(const Expr& table, const Expr& node) const { return take(table, node, 0); }

  Expr decided(const Expr& node, const Expr& value) const {
    constexpr const char* kCompare[] = {"less_equal", "less", "greater_equal", "greater", "equal", "not_equal"};
    Expr split = of_nodes(numbers_of(forest_.splits, {count_}, dtype_), node), out;
    for (int64_t mode = Leq; mode <= Member; ++mode) {
      if (!std::count(forest_.modes.begin(), forest_.modes.end(), mode)) continue;
      Expr answer = mode == Member ? is_member(node, value) : call_op(kCompare[mode], {value, split});
      if (!out.defined()) out = answer;
      else out = where(equal(of_nodes(make_ints(forest_.modes), node), make_ints({mode})), answer, out);
    }
    return out;
  }

  Expr is_member(const Expr& node, const Expr& value) const {
    size_t width = 1;
    for (const auto& set : forest_.members) width = std::max(width, set.size());
    std::vector<double> table;
    for (std::vector<double> set : forest_.members) {
      set.resize(width, std::numeric_limits<double>::quiet_NaN());  // equal to nothing
      table.insert(table.end(), set.begin(), set.end());
    }
    Expr sets = numbers_of(table, {static_cast<int64_t>(forest_.members.size()), static_cast<int64_t>(width)}, dtype_);
    Expr own = take(sets, of_nodes(make_ints(forest_.sets), node), 0);
    return reduce("any", equal(own, expand_dims(value, 2)), int_array({2}));
  }

  Operation& in_;
  const Forest& forest_;
  DataType dtype_;
  Expr x_;
  int64_t count_;
};

/// Scores (rows, targets): what the leaves give, added up or otherwise taken together.
Expr scores_of(Operation& in, Forest& forest, Expr x, const std::string& how) {
  measure(in, &forest);
  DataType dtype = in.dtype(x);
  auto trees = static_cast<int64_t>(forest.roots.size()), nodes = static_cast<int64_t>(forest.yes.size());
  Expr leaves = Descent(in, forest, x).leaves();
  bool sums = how == "SUM" || how == "AVERAGE";
  double nothing = sums ? 0 : how == "MIN" ? INFINITY : -INFINITY;
  std::vector<double> table(static_cast<size_t>(nodes * forest.targets), nothing);
  for (size_t node = 0; node < forest.gives.size(); ++node)
    for (const auto& [target, weight] : forest.gives[node]) {
      if (target < 0 || target >= forest.targets) in.invalid("a leaf gives to a target that does not exist");
      double& total = table[node * static_cast<size_t>(forest.targets) + static_cast<size_t>(target)];
      total = sums ? total + weight : how == "MIN" ? std::min(total, weight) : std::max(total, weight);
    }
  Expr given = take(numbers_of(table, {nodes, forest.targets}, dtype), leaves, 0);  // (rows, trees, targets)
  Array<PrimExpr> axis = int_array({1});
  if (how == "SUM") return sum(given, axis);
  if (how == "AVERAGE") return divide(sum(given, axis), make_scalar(static_cast<double>(trees), dtype));
  Expr out = reduce(how == "MIN" ? "min" : "max", given, axis);
  return where(call_op("isinf", {out}), make_scalar(0, dtype), out);
}

std::vector<double> doubles_of(const NDArray& data) {
  std::vector<double> out;
  for (int64_t i = 0; i < data.size(); ++i)
    out.push_back(read_float(data.dtype(), data.data<char>() + i * int64_t(data.dtype().bytes())));
  return out;
}

Expr rows_of(Operation& in) {
  Expr x = in[0];
  DataType dtype = in.dtype(x);
  if (!is_float(dtype) || dtype.bits == 16) x = cast(x, DataType::Float(32));
  return in.rank(x) == 1 ? expand_dims(x, 0) : x;
}

/// The older form: nodes are named by (tree, node), and leaves are nodes of the mode LEAF. What the leaves give is in lists that
/// begin with `prefix`.
Forest named_forest(Operation& in, const std::string& prefix) {
  static const std::map<std::string, int64_t> kModes{{"BRANCH_LEQ", Leq}, {"BRANCH_LT", Lt}, {"BRANCH_GTE", Gte},
                                                     {"BRANCH_GT", Gt},   {"BRANCH_EQ", Eq}, {"BRANCH_NEQ", Neq},
                                                     {"LEAF", Leq}};
  Ints trees = in.integers("nodes_treeids"), names = in.integers("nodes_nodeids"),
       features = in.integers("nodes_featureids"), yes = in.integers("nodes_truenodeids"),
       no = in.integers("nodes_falsenodeids"), tracks = in.integers("nodes_missing_value_tracks_true");
  std::vector<std::string> modes = in.texts("nodes_modes");
  std::vector<double> splits = tree_numbers(in, "nodes_values");
  size_t nodes = trees.size();
  if (tracks.empty()) tracks.assign(nodes, 0);
  if (names.size() != nodes || features.size() != nodes || yes.size() != nodes || no.size() != nodes ||
      modes.size() != nodes || splits.size() != nodes || tracks.size() != nodes)
    in.invalid("the lists of nodes differ in length");
  Forest forest;
  std::map<std::pair<int64_t, int64_t>, int64_t> index_of;
  std::map<int64_t, int64_t> roots;
  for (size_t i = 0; i < nodes; ++i) {
    auto mode = kModes.find(modes[i]);
    if (mode == kModes.end()) in.invalid("a node of the unknown mode " + modes[i]);
    int64_t index = forest.add_node(modes[i] == "LEAF" ? 0 : features[i], mode->second, splits[i], tracks[i] != 0);
    index_of[{trees[i], names[i]}] = index;
    roots.emplace(trees[i], index);  // the first node of a tree
  }
  auto find = [&](int64_t tree, int64_t name) {
    auto found = index_of.find({tree, name});
    if (found == index_of.end()) in.invalid("a branch leads to a node that does not exist");
    return found->second;
  };
  for (size_t i = 0; i < nodes; ++i)
    if (modes[i] != "LEAF") forest.yes[i] = find(trees[i], yes[i]), forest.no[i] = find(trees[i], no[i]);
  Ints leaf_trees = in.integers(prefix + "treeids"), leaf_names = in.integers(prefix + "nodeids"),
       targets = in.integers(prefix + "ids");
  std::vector<double> weights = tree_numbers(in, prefix + "weights");
  if (leaf_names.size() != leaf_trees.size() || targets.size() != leaf_trees.size() ||
      weights.size() != leaf_trees.size())
    in.invalid("the lists of targets differ in length");
  for (size_t i = 0; i < targets.size(); ++i)
    forest.gives[static_cast<size_t>(find(leaf_trees[i], leaf_names[i]))].emplace_back(targets[i], weights[i]);
  for (const auto& [tree, root] : roots) forest.roots.push_back(root);
  return forest;
}

/// Softmax that leaves zeros zero; rows of zeros alone become halves.
Expr softmax_zero(Operation& in, const Expr& scores) {
  DataType dtype = in.dtype(scores);
  Array<PrimExpr> axis = int_array({static_cast<int64_t>(in.rank(scores)) - 1});
  Expr greatest = reduce("max", scores, axis, true);
  Expr is_zero = call_op("less_equal", {call_op("abs", {scores}), make_scalar(1e-7, dtype)});
  Expr each = where(is_zero, multiply(scores, exp(negative(greatest))), exp(subtract(scores, greatest)));
  Expr total = sum(each, axis, true), is_nothing = equal(total, make_scalar(0, dtype));
  return where(is_nothing, make_scalar(0.5, dtype), divide(each, where(is_nothing, make_scalar(1, dtype), total)));
}

/// The inverse of the normal distribution, by Winitzki's approximation of the inverse of erf.
Expr probit(Operation& in, const Expr& scores) {
  DataType dtype = in.dtype(scores);
  auto number = [&](double value) { return make_scalar(value, dtype); };
  constexpr double kA = 0.147, kPi = 3.14159265358979;
  Expr x = subtract(multiply(scores, number(2)), number(1));
  Expr inner = multiply(subtract(number(1), x), add(number(1), x));
  Expr logarithm = log(inner);
  Expr middle = add(multiply(logarithm, number(0.5)), number(2 / (kPi * kA)));
  Expr root = sqrt(subtract(sqrt(subtract(multiply(middle, middle), divide(logarithm, number(kA)))), middle));
  Expr value = multiply(where(less(x, number(0)), number(-1.41421356), number(1.41421356)), root);
  return where(equal(inner, number(0)), number(0), value);
}

}  // namespace

std::vector<double> tree_numbers(Operation& in, const std::string& name) {
  if (std::optional<NDArray> data = in.tensor(name + "_as_tensor")) return doubles_of(*data);
  std::vector<float> values = in.numbers(name);
  return {values.begin(), values.end()};
}

Expr with_post_transform(Operation& in, const Expr& scores, const std::string& name) {
  if (name == "NONE") return scores;
  if (name == "LOGISTIC") return sigmoid(scores);
  if (name == "SOFTMAX") return softmax_of(scores, static_cast<int>(in.rank(scores)) - 1);
  if (name == "SOFTMAX_ZERO") return softmax_zero(in, scores);
  if (name == "PROBIT") return probit(in, scores);
  in.invalid("an unknown transform " + name);
}

Values tree_ensemble(Operation& in) {
  auto numbers = [&](const char* name) {
    std::optional<NDArray> data = in.tensor(name);
    return data ? doubles_of(*data) : std::vector<double>();
  };
  Ints features = in.integers("nodes_featureids"), yes = in.integers("nodes_truenodeids"),
       no = in.integers("nodes_falsenodeids"), yes_leaf = in.integers("nodes_trueleafs"),
       no_leaf = in.integers("nodes_falseleafs"), targets = in.integers("leaf_targetids"),
       tracks = in.integers("nodes_missing_value_tracks_true");
  std::vector<double> splits = numbers("nodes_splits"), modes = numbers("nodes_modes"),
                      weights = numbers("leaf_weights"), members = numbers("membership_values");
  size_t nodes = features.size();
  if (tracks.empty()) tracks.assign(nodes, 0);
  if (yes.size() != nodes || no.size() != nodes || yes_leaf.size() != nodes || no_leaf.size() != nodes ||
      modes.size() != nodes || splits.size() != nodes || tracks.size() != nodes || targets.size() != weights.size())
    in.invalid("the lists of nodes or leaves differ in length");
  Forest forest;
  auto member = members.begin();
  for (size_t i = 0; i < nodes; ++i) {
    auto mode = static_cast<int64_t>(modes[i]);
    if (mode < Leq || mode > Member) in.invalid("a node of an unknown mode");
    int64_t index = forest.add_node(features[i], mode, splits[i], tracks[i] != 0);
    if (mode != Member) continue;
    forest.sets[static_cast<size_t>(index)] = static_cast<int64_t>(forest.members.size());
    forest.members.emplace_back();
    for (; member != members.end() && !std::isnan(*member); ++member) forest.members.back().push_back(*member);
    if (member == members.end()) in.invalid("membership_values has fewer sets than there are nodes that ask for one");
    ++member;
  }
  auto first_leaf = static_cast<int64_t>(nodes);
  for (size_t i = 0; i < targets.size(); ++i) {
    int64_t index = forest.add_node(0, modes.empty() ? int64_t{Leq} : static_cast<int64_t>(modes[0]), 0, false);
    forest.gives[static_cast<size_t>(index)].emplace_back(targets[i], weights[i]);
  }
  for (size_t i = 0; i < nodes; ++i) {
    forest.yes[i] = yes_leaf[i] ? yes[i] + first_leaf : yes[i];
    forest.no[i] = no_leaf[i] ? no[i] + first_leaf : no[i];
  }
  forest.roots = in.integers("tree_roots");
  forest.targets = in.integer("n_targets", 1);
  constexpr const char* kHow[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  int64_t how = in.integer("aggregate_function", 1), transform = in.integer("post_transform", 0);
  if (how < 0 || how > 3 || transform < 0 || transform > 4)
    in.invalid("an unknown aggregate_function or post_transform");
  return {with_post_transform(in, scores_of(in, forest, rows_of(in), kHow[how]), kTransforms[transform])};
}

Expr tree_scores(Operation& in, const std::string& prefix, int64_t targets) {
  Forest forest = named_forest(in, prefix);
  if (targets == 1)
    for (auto& given : forest.gives)
      for (auto& [target, weight] : given) target = 0;
  forest.targets = targets;
  Expr x = rows_of(in), out = scores_of(in, forest, x, in.text("aggregate_function", "SUM"));
  std::vector<double> base = tree_numbers(in, "base_values");
  if (!base.empty()) {
    base.resize(std::min(base.size(), static_cast<size_t>(targets)));
    out = add(out, numbers_of(base, {static_cast<int64_t>(base.size())}, in.dtype(x)));
  }
  return cast_if_needed(in, out, DataType::Float(32));
}

Values tree_ensemble_regressor(Operation& in) {
  Expr scores = tree_scores(in, "target_", in.integer("n_targets", 1));
  return {with_post_transform(in, scores, in.text("post_transform", "NONE"))};
}

}  // namespace tessera::onnx
