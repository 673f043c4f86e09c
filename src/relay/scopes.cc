#include "relay/scopes.h"

namespace tessera::relay {

Scopes::Scopes(const Expr& root) {
  scopes_.push_back({0, 0, 0});
  std::vector<Expr> order;
  post_order(root, [&](const Expr& expr) { order.push_back(expr); });
  use(root, 0);
  for (size_t i = order.size(); i-- > 0;) {  // users before what they use
    const Expr& expr = order[i];
    auto found = uses_.find(expr.get());
    if (found == uses_.end()) continue;  // inside a primitive function
    Id here = found->second.scope;
    auto open_for = [&](const Expr& part, bool first) {
      Id inside = open(here);
      if (first) first_inner_[expr.get()] = inside;
      use(part, inside);
    };
    if (auto* function = expr.as<FunctionNode>()) {
      if (!is_primitive(function)) open_for(function->body, true);
    } else if (auto* cond = expr.as<If>()) {
      use(cond->cond, here);
      open_for(cond->true_branch, true);
      open_for(cond->false_branch, false);
    } else if (auto* match = expr.as<Match>()) {
      use(match->data, here);
      bool first = true;
      for (const Clause& clause : match->clauses) open_for(clause->rhs, std::exchange(first, false));
    } else {
      each_child(expr, [&](const Expr& part) { use(part, here); });
    }
  }
}

Scopes::Id Scopes::open(Id parent) {
  const Scope &up = scopes_[parent], &far = scopes_[up.jump];
  bool skip = up.depth - far.depth == far.depth - scopes_[far.jump].depth;
  Scope scope{parent, skip ? far.jump : parent, up.depth + 1};
  scopes_.push_back(scope);
  return count() - 1;
}

Scopes::Id Scopes::common(Id a, Id b) const {
  auto lift = [&](Id from, int depth) {
    while (scopes_[from].depth > depth)
      from = scopes_[scopes_[from].jump].depth >= depth ? scopes_[from].jump : scopes_[from].parent;
    return from;
  };
  int depth = std::min(scopes_[a].depth, scopes_[b].depth);
  a = lift(a, depth), b = lift(b, depth);
  while (a != b) {
    bool far = scopes_[a].jump != scopes_[b].jump;
    a = far ? scopes_[a].jump : scopes_[a].parent;
    b = far ? scopes_[b].jump : scopes_[b].parent;
  }
  return a;
}

void Scopes::use(const Expr& expr, Id scope) {
  auto [at, added] = uses_.try_emplace(expr.get(), Use{scope, false});
  if (added || at->second.scope == scope) return;
  at->second = {common(at->second.scope, scope), true};
}

}  // namespace tessera::relay
