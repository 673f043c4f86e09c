#include "relay/transform/region/collage_candidates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "relay/slots.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

constexpr size_t kMaxUnions = 64;  // of one match with others

Fusion kind_of(const Expr& call) { return fusion_of(downcast<Op>(call.as<Call>()->op)); }

/// Does the compiler make one kernel of a kernel and the call that uses its result?
bool fuses(Fusion kernel, Fusion user) {
  if (user <= Fusion::Broadcast) return kernel <= Fusion::Injective || kernel == Fusion::OutputElementwise;
  return user <= Fusion::Reduction && kernel <= Fusion::Injective;
}

/// The values that an operand is made from, through tuples.
template <class F>
void each_value(const Expr& operand, F&& f) {
  auto* tuple = operand.as<Tuple>();
  if (!tuple) return f(operand);
  for (const Expr& field : tuple->fields_) each_value(field, f);
}

bool is_dataflow(const Expr& expr) {
  return expr.as<Call>() || expr.as<Tuple>() || expr.as<TupleGetItem>() || expr.as<Constant>() || expr.as<OpNode>();
}

/// Matches that are taken together.
struct MatchUnion {
  std::vector<std::pair<size_t, int>> matches;  // and how many others follow each
  IndexSet members;
};

}  // namespace

CollageCandidates::CollageCandidates(const Expr& body, const std::vector<Toolchain>& toolchains,
                                     const CollageLimits& limits)
    : graph_(body) {
  number_calls(body);
  find_matches(body, toolchains);
  for (size_t call = 0; call < calls_.size(); ++call) add_kernels(call, limits.host_depth);
  for (size_t match = 0; match < matches_.size(); ++match) add_unions(match, limits.external_depth);
}

bool CollageCandidates::holds(const CollageCandidate& candidate, const Expr& expr) const {
  const DataflowGraph::Node* node = graph_.find(expr);
  if (!node || number_[node->index] < 0) return false;
  return candidate.part.members.contains(static_cast<size_t>(number_[node->index]));
}

void CollageCandidates::number_calls(const Expr& body) {
  std::unordered_set<const Object*> in_functions;
  post_order(body, [&](const Expr& expr) {
    if (auto* function = expr.as<FunctionNode>())
      post_order(function->body, [&](const Expr& inner) { in_functions.insert(inner.get()); });
  });
  number_.assign(graph_.nodes().size(), -1);
  for (const DataflowGraph::Node& node : graph_.nodes()) {
    auto* call = node.expr.as<Call>();
    if (!call || !call->op.as<OpNode>() || in_functions.count(node.expr.get())) continue;
    number_[node.index] = static_cast<int>(calls_.size());
    calls_.push_back(node.index);
  }
  needed_.assign(graph_.nodes().size(), IndexSet(calls_.size()));
  for (const DataflowGraph::Node& node : graph_.nodes()) {
    for (size_t input : node.inputs)
      if (input < node.index) needed_[node.index] |= needed_[input];
    if (number_[node.index] >= 0) needed_[node.index].insert(static_cast<size_t>(number_[node.index]));
  }
}

void CollageCandidates::find_matches(const Expr& body, const std::vector<Toolchain>& toolchains) {
  for (const Toolchain& toolchain : toolchains) {
    for (const Toolchain::Rule& rule : toolchain.rules) {
      for (PatternGroup& group : find_overlapping_groups(rule.pattern, body)) {
        IndexSet members(calls_.size());
        bool is_possible = graph_.find(group.root) && number_[graph_.find(group.root)->index] >= 0;
        for (const Expr& expr : group.inside) {
          is_possible = is_possible && is_dataflow(expr);
          if (!is_possible || !expr.as<Call>()) continue;
          int number = number_[graph_.find(expr)->index];
          is_possible = number >= 0;
          if (is_possible) members.insert(static_cast<size_t>(number));
        }
        if (!is_possible || !rule.check(group.root).to<bool>()) continue;
        matches_by_root_[group.root.get()].push_back(matches_.size());
        matches_.push_back({&toolchain, rule.name, std::move(group), std::move(members)});
      }
    }
  }
}

void CollageCandidates::add_kernels(size_t call, int depth) {
  IndexSet members(calls_.size());
  Fusion kind = Fusion::Elementwise;
  for (int length = 1;; ++length) {
    const Expr& root = graph_.nodes()[calls_[call]].expr;
    members.insert(call);
    kind = std::max(kind, kind_of(root));
    add(members, root, {});
    int user = only_user(root);
    if (user < 0 || length >= depth) return;
    call = static_cast<size_t>(user);
    if (!fuses(kind, kind_of(graph_.nodes()[calls_[call]].expr))) return;
  }
}

void CollageCandidates::add_unions(size_t match, int depth) {
  std::vector<MatchUnion> found{{{{match, 1}}, matches_[match].members}};
  std::set<IndexSet> seen{matches_[match].members};
  for (size_t i = 0; i < found.size(); ++i) {
    const MatchUnion current = found[i];
    std::vector<const RuleMatch*> taken;
    for (const auto& [each, level] : current.matches) taken.push_back(&matches_[each]);
    std::sort(taken.begin(), taken.end(), [&](const RuleMatch* a, const RuleMatch* b) {
      return graph_.find(a->group.root)->index < graph_.find(b->group.root)->index;
    });
    add(current.members, matches_[match].group.root, taken);
    for (const auto& [user, level] : current.matches) {
      if (level >= depth) continue;
      for (const Expr& arg : matches_[user].group.args) {
        each_value(arg, [&](const Expr& value) {
          auto it = matches_by_root_.find(value.get());
          if (it == matches_by_root_.end() || !is_used_only_in(value, current.members)) return;
          for (size_t other : it->second) {
            const RuleMatch& producer = matches_[other];
            if (producer.toolchain != matches_[match].toolchain || producer.members.meets(current.members)) continue;
            MatchUnion larger = current;
            larger.matches.emplace_back(other, level + 1);
            larger.members |= producer.members;
            if (found.size() < kMaxUnions && seen.insert(larger.members).second) found.push_back(std::move(larger));
          }
        });
      }
    }
  }
}

void CollageCandidates::add(const IndexSet& members, const Expr& root, std::vector<const RuleMatch*> matches) {
  IndexSet needed = before(members);
  if (!needed.meets(members)) candidates_.push_back({{members, std::move(needed)}, root, std::move(matches)});
}

IndexSet CollageCandidates::before(const IndexSet& members) const {
  IndexSet out(calls_.size());
  std::vector<size_t> todo;
  for (size_t call = 0; call < calls_.size(); ++call)
    if (members.contains(call)) todo.push_back(calls_[call]);
  std::unordered_set<size_t> seen;
  while (!todo.empty()) {
    size_t index = todo.back();
    todo.pop_back();
    for (size_t input : graph_.nodes()[index].inputs) {
      int number = number_[input];
      if (number >= 0 && !members.contains(static_cast<size_t>(number))) out |= needed_[input];
      if (number < 0 && seen.insert(input).second) todo.push_back(input);
    }
  }
  return out;
}

int CollageCandidates::only_user(const Expr& value) const {
  const std::vector<size_t>& users = graph_.find(value)->outputs;
  for (size_t user : users)
    if (user != users.front()) return -1;
  return users.empty() ? -1 : number_[users.front()];
}

bool CollageCandidates::is_used_only_in(const Expr& value, const IndexSet& members) const {
  const std::vector<size_t>& users = graph_.find(value)->outputs;
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](size_t user) {
    int number = number_[user];
    if (number >= 0) return members.contains(static_cast<size_t>(number));
    const Expr& tuple = graph_.nodes()[user].expr;
    return tuple.as<Tuple>() && is_used_only_in(tuple, members);
  });
}

}  // namespace tessera::relay
