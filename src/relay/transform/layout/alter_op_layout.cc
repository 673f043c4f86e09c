// AlterOpLayout: operators take the layouts that suit the target; the slot FTVMAlterOpLayout says which.

#include "relay/transform/layout/layout_rewrite.h"
#include "relay/transform/passes.h"

namespace tessera::relay {

Expr alter_op_layout(const Expr& body, const GraphEnvironment& environment) {
  return rewrite_layouts(body, [&](const Call* before, const Attrs& attrs, const Array<Expr>& args) -> Expr {
    Any rule = Op(before->op.as<OpNode>()).slot(kAlterOpLayout);
    if (rule.is_null()) return nullptr;
    return ask_rule(rule, environment, attrs, args, placeholders_of(before->args), before->checked_type_);
  });
}

}  // namespace tessera::relay
