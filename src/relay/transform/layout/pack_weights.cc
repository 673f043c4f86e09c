// PackWeights: constant weights are put into the layout that the target reads fastest. The slot TPackWeights of their operator
// says which; FoldConstant then does it.
//   nn.dense(x, constant)  =>  nn.contrib_dense_pack(x, layout_transform(constant, "NK", "NK32n"))

#include "ir/rewrite.h"
#include "relay/transform/layout/layout_rewrite.h"
#include "relay/transform/passes.h"

namespace tessera::relay {

Expr pack_weights(const Expr& root, const GraphEnvironment& environment) {
  return rewrite(root, [&](Rewriter& self, const Call* call) -> Expr {
    Array<Expr> args;
    for (const Expr& arg : call->args) args.push_back(self(arg));
    auto* op = call->op.as<OpNode>();
    Any rule = op ? Op(op).slot(kPackWeights) : Any();
    if (!rule.is_null())
      if (Expr out = ask_rule(rule, environment, call->attrs, args, placeholders_of(call->args), call->checked_type_))
        return out;
    return with(with(call, &Call::op, self(call->op)), &Call::args, args);
  });
}

}  // namespace tessera::relay
