#include "relay/transform/simplify/combine_parallel.h"

#include <algorithm>
#include <unordered_set>

#include "ir/rewrite.h"
#include "ir/span_scope.h"
#include "ir/structural/equal.h"
#include "relay/inspect.h"
#include "relay/slots.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// The users of each expression, and how often something that is no call of an operator uses it.
Users users_of(const Expr& root) {
  Users out;
  out[root.get()].push_back(nullptr);
  post_order(root,
             [&](const Expr& expr) { each_child(expr, [&](const Expr& part) { out[part.get()].push_back(expr); }); });
  return out;
}

Branch branch_from(const Call* first, const Users& users) {
  Branch out{first};
  for (;;) {
    auto it = users.find(out.back());
    if (it == users.end() || it->second.size() != 1 || !it->second[0]) return out;
    auto* next = it->second[0].as<Call>();
    auto* op = next ? next->op.as<OpNode>() : nullptr;
    if (!op || fusion_of(Op(op)) > Fusion::Broadcast) return out;
    out.push_back(next);
  }
}

size_t parent_index(const Branch& branch, size_t depth) {
  const Array<Expr>& args = branch[depth]->args;
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].get() == branch[depth - 1]) return i;
  return args.size();
}

}  // namespace

bool ParallelCombiner::depends_on(const Expr& expr, const Expr& source) const {
  size_t least = index_.at(source.get());
  bool found = false;
  pre_order(expr, [&](const Expr& part) {
    found = found || part.same_as(source);
    return !found && index_.at(part.get()) > least;  // what comes before cannot use it
  });
  return found;
}

bool ParallelCombiner::is_level_alike(const std::vector<Branch>& branches, size_t depth, size_t parent) const {
  const Call* first = branches[0][depth];
  for (const Branch& branch : branches) {
    const Call* call = branch[depth];
    if (!call->op.same_as(first->op) || call->args.size() != first->args.size()) return false;
    if (!structural_equal(call->attrs, first->attrs) || parent_index(branch, depth) != parent) return false;
    for (size_t i = 0; i < call->args.size(); ++i) {
      if (i == parent) continue;
      if (!can_combine_argument(first, call, i) || depends_on(call->args[i], branches[0][0]->args[0])) return false;
    }
  }
  return true;
}

void ParallelCombiner::combine(const std::vector<Branch>& branches) {
  size_t longest = branches[0].size();
  for (const Branch& branch : branches) longest = std::min(longest, branch.size());
  // What stands for several calls comes from where all of them came from.
  std::vector<Span> spans;
  auto span_of_level = [&](size_t depth) {
    spans.clear();
    for (const Branch& branch : branches) spans.push_back(branch[depth]->span);
    return merged_span(spans);
  };
  Expr value;
  {
    SpanScope scope(span_of_level(0));
    value = combined(branches);
  }
  size_t depth = 1;
  for (; depth < longest; ++depth) {
    size_t parent = parent_index(branches[0], depth);
    if (!is_level_alike(branches, depth, parent)) break;
    SpanScope scope(span_of_level(depth));
    const Call* first = branches[0][depth];
    Array<Expr> args;
    for (size_t i = 0; i < first->args.size(); ++i)
      args.push_back(i == parent ? value : combined_argument(branches, depth, i));
    value = make_call(first->op, args, first->attrs);
  }
  SpanScope scope(span_of_level(depth - 1));
  Array<Expr> out = parts(value, branches);
  for (size_t i = 0; i < branches.size(); ++i) replaced_.emplace(branches[i][depth - 1], out[i]);
}

Expr ParallelCombiner::operator()(const Expr& root) {
  Users users = users_of(root);
  std::vector<Expr> inputs;
  std::unordered_map<const Object*, std::vector<const Call*>> by_input;
  post_order(root, [&](const Expr& expr) {
    index_.emplace(expr.get(), index_.size());
    auto* call = as_call(expr, op_);
    if (!call || !is_supported(call)) return;
    auto [it, is_new] = by_input.try_emplace(call->args[0].get());
    if (is_new) inputs.push_back(call->args[0]);
    it->second.push_back(call);
  });
  for (const Expr& input : inputs) {
    std::vector<std::vector<Branch>> groups;
    for (const Call* call : by_input[input.get()]) {
      bool is_free = true;  // of the input it shares, in all its other arguments
      for (size_t i = 1; i < call->args.size(); ++i) is_free = is_free && !depends_on(call->args[i], input);
      if (!is_free) continue;
      auto fits = [&](const std::vector<Branch>& group) { return can_combine(group[0][0], call); };
      auto group = std::find_if(groups.begin(), groups.end(), fits);
      if (group == groups.end()) group = groups.insert(groups.end(), {{}});
      group->push_back(branch_from(call, users));
    }
    for (const std::vector<Branch>& group : groups)
      if (pays(group, users)) combine(group);
  }
  if (replaced_.empty()) return root;
  return rewrite(root, [this](Rewriter& self, const Call* call) -> Expr {
    auto it = replaced_.find(call);
    return it == replaced_.end() ? Expr(self.children(call)) : self(it->second);
  });
}

Function combine_parallel(ParallelCombiner&& combiner, const Function& function) {
  return with(function, &FunctionNode::body, combiner(function->body));
}

}  // namespace tessera::relay
