// CanonicalizeOps: operators that are others in disguise are written as those.
//
//   nn.bias_add(%x, %b)    =>    add(%x, expand_dims(%b, axis=1, num_newaxis=2))

#include "ir/rewrite.h"
#include "relay/attrs/nn.h"
#include "relay/inspect.h"
#include "relay/make.h"
#include "relay/op_names.h"
#include "relay/transform/passes.h"

namespace tessera::relay {

Expr canonicalize_ops(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    if (op_name(call) != ops::bias_add) return post;
    int rank = static_cast<int>(rank_of(call->args[0]));
    int axis = call->attrs_as<BiasAddAttrs>()->axis;
    int behind = rank - 1 - (axis < 0 ? axis + rank : axis);
    Expr bias = post->args[1];
    return add(post->args[0], behind > 0 ? expand_dims(bias, 1, behind) : bias);
  });
}

}  // namespace tessera::relay
