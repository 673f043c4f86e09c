// DefuseOps: calls of primitive functions become the operators again; the inverse of FuseOps.

#include "ir/rewrite.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

/// The body with the parameters replaced; each call of the function gets nodes of its own.
Expr inlined(const FunctionNode* function, const Array<Expr>& args) {
  std::unordered_map<const Object*, Expr> values;
  for (size_t i = 0; i < args.size(); ++i) values.emplace(function->params[i].get(), args[i]);
  return rewrite(function->body, [&](const VarNode* var) -> Expr {
    auto it = values.find(var);
    return it == values.end() ? Expr(var) : it->second;
  });
}

}  // namespace

Expr defuse_ops(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    auto* function = call->op.as<FunctionNode>();
    if (!function || !function->attrs.has(attr::kPrimitive)) return self.children(call);
    return inlined(function, self(call->args));
  });
}

}  // namespace tessera::relay
