// AlterOpLayout: operators take the layouts that suit the target; the slot FTVMAlterOpLayout says which.

#include "relay/transform/layout/layout_rewrite.h"
#include "relay/transform/passes.h"

namespace tessera::relay {
namespace {

Expr alter(const Call* before, const Attrs& attrs, const Array<Expr>& args) {
  Any rule = Op(before->op.as<OpNode>()).slot(kAlterOpLayout);
  if (rule.is_null()) return nullptr;
  Any out = rule.to<PackedFunc>()(attrs, args, placeholders_of(before->args), before->checked_type_);
  return out.is_null() ? Expr() : out.to<Expr>();
}

}  // namespace

Expr alter_op_layout(const Expr& body) { return rewrite_layouts(body, alter); }

}  // namespace tessera::relay
