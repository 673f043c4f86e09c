// Legalize: operators are replaced by what their slot says, FTVMLegalize by default: forms that the target computes well,
// or at all. The slot's function takes (attributes, arguments, types of the arguments and of the result) and gives an
// expression of the same meaning, or None.

#include "ir/rewrite.h"
#include "relay/transform/passes.h"

namespace tessera::relay {

Expr legalize(const Expr& root, const GraphEnvironment& environment, const std::string& slot) {
  return rewrite(root, [&](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    auto* op = call->op.as<OpNode>();
    Any rule = op ? Op(op).slot(slot) : Any();
    if (rule.is_null()) return post;
    Array<Type> types;
    for (const Expr& arg : call->args) types.push_back(checked_type(arg));
    types.push_back(checked_type(Expr(call)));
    Expr out = ask_rule(rule, environment, post->attrs, post->args, types);
    return out ? out : Expr(post);
  });
}

}  // namespace tessera::relay
