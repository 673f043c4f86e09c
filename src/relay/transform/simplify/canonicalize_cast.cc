// CanonicalizeCast: a widening cast that several element-wise operators use is made anew for each, so that each fuses its
// own and the narrow tensor is what lies in memory between kernels.
//
//   %1 = cast(%0, "int32"); (%1 + %p, %1 + %q)    =>    (cast(%0, "int32") + %p, cast(%0, "int32") + %q)

#include <unordered_map>

#include "ir/rewrite.h"
#include "relay/attrs/transform.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "relay/slots.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

bool widens(const Call* call) {
  return op_name(call) == ops::cast && dtype_of(call->args[0]).bits < call->attrs_as<CastAttrs>()->dtype.bits;
}

}  // namespace

Expr canonicalize_cast(const Expr& root) {
  std::unordered_map<const Object*, int> uses;
  return rewrite(root, [&](Rewriter& self, const Call* call) -> Expr {
    auto* op = call->op.as<OpNode>();
    if (!op || fusion_of(Op(op)) > Fusion::Broadcast) return self.children(call);
    Array<Expr> args;
    for (const Expr& arg : call->args) {
      Expr changed = self(arg);
      auto* cast = arg.as<Call>();
      if (cast && widens(cast) && ++uses[cast] > 1) changed = make(Call(*changed.as<Call>()));
      args.push_back(changed);
    }
    return with_args(call, args);
  });
}

}  // namespace tessera::relay
