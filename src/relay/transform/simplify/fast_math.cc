// FastMath: float32 functions are replaced by quicker, less exact ones.
//
//   exp(%x)    =>    fast_exp(%x)

#include "ir/rewrite.h"
#include "relay/inspect.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"

namespace tessera::relay {

Expr fast_math(const Expr& root) {
  return rewrite(root, [](Rewriter& self, const Call* call) -> Expr {
    Ref<Call> post = self.children(call);
    auto* op = call->op.as<OpNode>();
    Any fast = op ? Op(op).slot(kFastForm) : Any();
    if (fast.is_null() || dtype_of(Expr(call)) != DataType::Float(32)) return post;
    return call_op(fast.to<String>(), post->args, post->attrs);
  });
}

}  // namespace tessera::relay
