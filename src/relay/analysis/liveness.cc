#include "relay/analysis/liveness.h"

#include <algorithm>

#include "base/stack.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

bool contains(const VarList& list, const Var& var) {
  return std::any_of(list.begin(), list.end(), [&](const Var& one) { return one.same_as(var); });
}
void add(VarList* list, const VarList& more) {
  for (const Var& var : more)
    if (!contains(*list, var)) list->push_back(var);
}
void drop(VarList* list, const Var& var) {
  list->erase(std::remove_if(list->begin(), list->end(), [&](const Var& one) { return one.same_as(var); }),
              list->end());
}

class Liveness {
 public:
  /// What is read from `chain` on, where `behind` is read after it.
  VarList live_in(const Expr& chain, const VarList& behind) {
    std::vector<const Let*> lets;
    Expr end = chain;
    for (; end.as<Let>(); end = end.as<Let>()->body) lets.push_back(end.as<Let>());
    VarList live = reads(end, behind);
    for (auto it = lets.rbegin(); it != lets.rend(); ++it) {
      LiveVars& at = found_[*it];
      at.out = live;
      drop(&live, (*it)->var);
      add(&at.in, operands((*it)->value));
      add(&at.in, live);
      live = reads((*it)->value, live);
    }
    return live;
  }

  std::unordered_map<const Object*, LiveVars> take() { return std::move(found_); }

 private:
  /// What a value reads itself; branches and clauses have lets of their own.
  static VarList operands(const Expr& value) {
    if (auto* branch = value.as<If>()) return free_vars(branch->cond);
    if (auto* match = value.as<Match>()) return free_vars(match->data);
    return free_vars(value);
  }

  /// What a value reads, its branches and clauses included, with what is read behind it.
  VarList reads(const Expr& value, const VarList& behind) {
    return on_enough_stack([&] {
      VarList out = operands(value);
      if (auto* branch = value.as<If>()) {
        add(&out, live_in(branch->true_branch, behind));
        add(&out, live_in(branch->false_branch, behind));
      } else if (auto* match = value.as<Match>()) {
        for (const Clause& clause : match->clauses) {
          VarList inside = live_in(clause->rhs, behind);
          for (const Var& bound : pattern_vars(clause->lhs)) drop(&inside, bound);
          add(&out, inside);
        }
      }
      add(&out, behind);
      return out;
    });
  }

  std::unordered_map<const Object*, LiveVars> found_;
};

}  // namespace

std::unordered_map<const Object*, LiveVars> liveness(const FunctionNode* function) {
  Liveness out;
  out.live_in(function->body, {});
  return out.take();
}

}  // namespace tessera::relay
