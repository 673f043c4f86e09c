// A condition that does not change in a loop is asked once, outside it.
//
//   for i: if c: S(i)     =>     if c: for i: S(i)          where c does not use i and reads no memory

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/config.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

bool can_leave(const PrimExpr& condition, const Var& var) {
  return !uses_var(condition, var) && side_effect(condition) <= CallEffect::Pure;
}

/// The loop with the conditions its body begins with outside it.
Stmt outside(const Ref<For>& loop) {
  auto* branch = loop->body.as<IfThenElse>();
  if (!branch || !can_leave(branch->condition, loop->loop_var)) return loop;
  Stmt otherwise;
  if (branch->else_case) otherwise = outside(with(loop, &For::body, branch->else_case));
  return make(IfThenElse{.condition = branch->condition,
                         .then_case = outside(with(loop, &For::body, branch->then_case)),
                         .else_case = otherwise});
}

Stmt hoist(const Stmt& body, bool across_launches) {
  Rewriter rewriter;
  rewriter.on([](Rewriter& self, const For* op) -> Stmt { return outside(self.children(op)); });
  rewriter.on([across_launches](Rewriter& self, const AttrStmt* op) -> Stmt {
    Ref<AttrStmt> out = self.children(op);
    auto* axis = op->node.as<IterVarNode>();
    auto* branch = out->body.as<IfThenElse>();
    if (!across_launches || !axis || !branch || branch->else_case || op->attr_key != attr::kThreadExtent) return out;
    if (!can_leave(branch->condition, axis->var)) return out;
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
