// Lets whose values nobody uses are dropped:  let %b = sqrt(%a); %a   =>   %a
//
// With `inline_once`, a value that is used once moves to its use. A value that may do more than give its result (it
// touches references, calls a stateful operator or an unknown function) stays, unless `ignore_impurity` is set.

#include "ir/rewrite.h"
#include "relay/let_list.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"
#include "relay/walk.h"

namespace tessera::relay {
namespace {

/// Which expressions only give a result, worked out once for all.
class Purity {
 public:
  explicit Purity(const Expr& root) {
    post_order(root, [&](const Expr& expr) {
      bool pure = !(expr.as<RefCreate>() || expr.as<RefRead>() || expr.as<RefWrite>());
      if (auto* call = expr.as<Call>(); call && !call->op.as<ConstructorNode>()) {
        auto* op = call->op.as<OpNode>();
        Any stateful = op ? Op(op).slot(kIsStateful) : Any();
        pure &= op && (stateful.is_null() || !stateful.to<bool>());
      }
      if (!expr.as<FunctionNode>())  // a closure does nothing until it is called
        each_child(expr, [&](const Expr& part) { pure &= pure_[part.get()]; });
      pure_[expr.get()] = pure;
    });
  }
  bool operator()(const Expr& expr) const { return pure_.at(expr.get()); }

 private:
  std::unordered_map<const Object*, bool> pure_;
};

/// What the result needs: starting from it, the value of a let is needed when its variable is, or when it is impure.
struct Needed {
  std::unordered_map<const Object*, int>
      uses;  // of variables; one in a function inside the let's may run many times: 2

  Needed(const Expr& root, const Purity& is_pure, bool ignore_impurity) {
    using Placed = std::pair<Expr, const Object*>;  // and the function that it stands in
    std::vector<Placed> todo{{root, nullptr}};
    std::unordered_map<const Object*, Placed> waiting;          // values of lets whose variable has no use yet
    std::unordered_map<const Object*, const Object*> bound_in;  // the functions of the lets that bind variables
    std::unordered_set<const Object*> seen;
    while (!todo.empty()) {
      auto [expr, inside] = todo.back();
      todo.pop_back();
      if (expr.as<VarNode>()) {
        auto it = bound_in.find(expr.get());
        uses[expr.get()] += it != bound_in.end() && it->second == inside ? 1 : 2;
        if (auto value = waiting.extract(expr.get())) todo.push_back(std::move(value.mapped()));
        continue;
      }
      if (!seen.insert(expr.get()).second) continue;
      if (auto* let = expr.as<Let>()) {
        bound_in[let->var.get()] = inside;
        bool needed = uses.count(let->var.get()) || !(ignore_impurity || is_pure(let->value));
        if (needed) todo.emplace_back(let->value, inside);
        else waiting.emplace(let->var.get(), Placed(let->value, inside));
        todo.emplace_back(let->body, inside);
        continue;
      }
      if (expr.as<FunctionNode>()) inside = expr.get();
      each_child(expr, [&, inside = inside](const Expr& part) { todo.emplace_back(part, inside); });
    }
  }
  int of(const Var& var) const {
    auto it = uses.find(var.get());
    return it == uses.end() ? 0 : it->second;
  }
};

}  // namespace

Expr eliminate_dead_code(const Expr& root, bool inline_once, bool ignore_impurity) {
  Purity is_pure(root);
  Needed needed(root, is_pure, ignore_impurity);
  std::unordered_map<const Object*, Expr> moved;
  Rewriter rewriter;
  rewriter.on([&](const VarNode* var) -> Expr {
    auto it = moved.find(var);
    return it == moved.end() ? Expr(var) : it->second;
  });
  rewriter.on([&](Rewriter& self, const Let* first) -> Expr {
    auto new_value = [&](const Let* let) -> Expr {
      int uses = needed.of(let->var);
      bool movable = ignore_impurity || is_pure(let->value);
      if (uses == 0 && movable) return nullptr;
      Expr value = self(let->value);
      if (!inline_once || uses != 1 || !movable) return value;
      moved.emplace(let->var.get(), value);
      return nullptr;
    };
    return rewrite_lets(first, new_value, self);
  });
  return rewriter(root);
}

}  // namespace tessera::relay
