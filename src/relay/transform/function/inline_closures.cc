// Calls of functions that stand in the program itself are replaced by their bodies, which is what executors without
// closures need:   (fn (%x) { exp(%x) })(%y)   =>   exp(%y)
//
// Run on graph normal form, where a let-bound function stands where it is called. Functions that are a unit of their
// own (fused, composite, compiled elsewhere) and recursive ones stay.

#include "ir/rewrite.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

const FunctionNode* as_plain(const Expr& op) {
  auto* function = op.as<FunctionNode>();
  if (!function || function->attrs.is_true(attr::kPrimitive) || function->attrs.has(attr::kComposite) ||
      function->attrs.has(attr::kCompiler))
    return nullptr;
  return function;
}

/// One level of calls; a function given to another shows as called only then.
Expr inline_once(const Expr& root, bool* changed) {
  return tessera::rewrite(root, [&](Rewriter& self, const Call* given) -> Expr {
    Ref<Call> call = self.children(given);
    const FunctionNode* function = as_plain(call->op);
    if (!function || function->params.size() != call->args.size()) return call;
    *changed = true;
    std::unordered_map<const Object*, Expr> values;
    for (size_t i = 0; i < call->args.size(); ++i) values.emplace(function->params[i].get(), call->args[i]);
    return tessera::rewrite(function->body, [&](const VarNode* var) -> Expr {
      auto it = values.find(var);
      return it == values.end() ? Expr(var) : it->second;
    });
  });
}

}  // namespace

Function inline_closures(const Function& function) {
  Expr body = function->body;
  for (bool changed = true; changed;) {
    changed = false;
    body = inline_once(body, &changed);
  }
  return body.same_as(function->body) ? function : with(function, &FunctionNode::body, body);
}

}  // namespace tessera::relay
