#pragma once
// What a graph is compiled with, as passes and the rules of operators see it: they are given it and read no setting of the
// thread.

#include <functional>
#include <string>
#include <type_traits>

#include "ir/pass/pass.h"
#include "ir/target/target.h"
#include "relay/expr.h"
#include "runtime/packed_func.h"

namespace tessera::relay {

struct GraphEnvironment {
  Target target;  // empty where there is none, or several
  PassContext context;

  /// The settings of the thread, for callers that have none to give: Python.
  static GraphEnvironment current();
  /// True where code is generated for a CPU, of which there is a machine model.
  bool is_for_cpu() const { return target && target->kind->name == "llvm"; }
};

/// `with target:` while it lives; nothing where there is no target.
class WithTarget {
 public:
  explicit WithTarget(const Target& target) : is_entered_(target.defined()) {
    if (is_entered_) Target::enter(target);
  }
  ~WithTarget() {
    if (is_entered_) Target::exit();
  }
  WithTarget(const WithTarget&) = delete;
  WithTarget& operator=(const WithTarget&) = delete;

 private:
  bool is_entered_;
};

// ---- rules of operators ----------------------------------------------------------------------------------------------

/// What is made of a call of an operator, or an empty expression to leave it as it is.
template <class... A>
using GraphRule = std::function<Expr(const A&... args, const GraphEnvironment&)>;

/// The rule behind a PackedFunc that `graph_rule` made.
template <class... A>
struct GraphRuleBody {
  GraphRule<A...> rule;
  PackedFuncNode::Body with_current;
  void operator()(Args args, Any* result) const { with_current(args, result); }
};

/// A rule as the value of a slot: a function of its other arguments for Python, which has its environment in the thread.
template <class... A>
PackedFunc graph_rule(std::string name, std::type_identity_t<GraphRule<A...>> rule) {
  auto with_current = [rule](A... args) { return rule(args..., GraphEnvironment::current()); };
  return PackedFunc(GraphRuleBody<A...>{rule, tessera::typed(std::move(name), with_current)->body});
}

/// What the rule in a slot makes of a call. A function of a user may ask for the current target.
template <class... A>
Expr ask_rule(const Any& slot, const GraphEnvironment& environment, const A&... args) {
  PackedFunc function = slot.to<PackedFunc>();
  if (auto* own = function->body.target<GraphRuleBody<A...>>()) return own->rule(args..., environment);
  WithTarget scope(environment.target);
  Any out = function(args...);
  return out.is_null() ? Expr() : out.to<Expr>();
}

}  // namespace tessera::relay
