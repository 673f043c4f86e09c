// A condition that does not change in a loop is asked once, outside it.
//
//   for i: if c: S(i)     =>     if c: for i: S(i)          where c does not use i and reads no memory
//
// A condition on a thread, or on a variable that a pragma names, leaves a loop only with `support_block_scope_hosting`; then
// conditions leave launches too.

#include <unordered_set>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/config.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

using Vars = std::unordered_set<const VarNode*>;

bool can_leave(const PrimExpr& condition, const Var& var, const Vars& fixed) {
  return side_effect(condition) <= CallEffect::Pure &&
         !uses_var(condition, [&](const VarNode* used) { return used == var.get() || fixed.count(used); });
}

/// The loop with the conditions its body begins with outside it, but for those on `fixed` variables.
Stmt outside(const Ref<For>& loop, const Vars& fixed) {
  auto* branch = loop->body.as<IfThenElse>();
  if (!branch || !can_leave(branch->condition, loop->loop_var, fixed)) return loop;
  Stmt otherwise;
  if (branch->else_case) otherwise = outside(with(loop, &For::body, branch->else_case), fixed);
  return make(IfThenElse{.condition = branch->condition,
                         .then_case = outside(with(loop, &For::body, branch->then_case), fixed),
                         .else_case = otherwise});
}

Stmt hoist(const Stmt& body, bool across_launches) {
  Vars fixed;  // variables of attributes: threads and what pragmas name
  if (!across_launches)
    walk(body, [&](const AttrStmt* op) {
      if (auto* axis = op->node.as<IterVarNode>()) fixed.insert(axis->var.get());
      if (auto* var = op->node.as<VarNode>()) fixed.insert(var);
    });
  Rewriter rewriter;
  rewriter.on([fixed](Rewriter& self, const For* op) -> Stmt { return outside(self.children(op), fixed); });
  rewriter.on([across_launches](Rewriter& self, const AttrStmt* op) -> Stmt {
    Ref<AttrStmt> out = self.children(op);
    auto* axis = op->node.as<IterVarNode>();
    auto* branch = out->body.as<IfThenElse>();
    if (!across_launches || !axis || !branch || branch->else_case || op->attr_key != attr::kThreadExtent) return out;
    if (!can_leave(branch->condition, axis->var, {})) return out;
    return make(IfThenElse{.condition = branch->condition, .then_case = with(out, &AttrStmt::body, branch->then_case)});
  });
  return rewriter(body);
}

}  // namespace

PrimFunc hoist_if_then_else(const PrimFunc& function, const PassContext& context) {
  bool across = context.options<HoistIfThenElseConfig>("tir.HoistIfThenElse")->support_block_scope_hosting;
  return with_body(function, hoist(function->body, across));
}

PrimFunc hoist_if_then_else_basic(const PrimFunc& function) {
  return with_body(function, hoist(function->body, false));
}

}  // namespace tessera
