// AlterOpLayout: operators take the layouts that suit the target; the slot FTVMAlterOpLayout says which.

#include "relay/transform/layout/layout_rewrite.h"
#include "relay/transform/pass.h"

namespace tessera::relay {
namespace {

Expr alter(const Call* before, const Attrs& attrs, const Array<Expr>& args) {
  Any rule = Op(before->op.as<OpNode>()).slot(kAlterOpLayout);
  if (rule.is_null()) return nullptr;
  Any out = rule.to<PackedFunc>()(attrs, args, placeholders_of(before->args), before->checked_type_);
  return out.is_null() ? Expr() : out.to<Expr>();
}

Globals globals{
    {"relay._transform.AlterOpLayout",
     [] {
       return function_pass("AlterOpLayout", 3, [](const Function& function) {
         return with(function, &FunctionNode::body, rewrite_layouts(function->body, alter));
       });
     }},
};

}  // namespace
}  // namespace tessera::relay
