// Gives the threads of kernels other axes: {"threadIdx.x": threadIdx.y} and the like.

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/attrs.h"
#include "tir/transform/passes.h"

namespace tessera {

Stmt remap_thread_axis(const Stmt& body, const Map<String, IterVar>& axes) {
  Map<Var, PrimExpr> vars;
  Rewriter rewriter;
  rewriter.share_results(false);
  rewriter.on([&](Rewriter& self, const AttrStmt* op) -> Stmt {
    auto* axis = op->node.as<IterVarNode>();
    IterVar now = axis && op->attr_key == attr::kThreadExtent ? axes.get_or_null(axis->thread_tag) : IterVar();
    if (!now) return self.children(op);
    vars.set(axis->var, now->var);
    AttrStmt out(*self.children(op).get());
    out.node = now;
    return make(std::move(out));
  });
  rewriter.on([&](const VarNode* op) -> PrimExpr {
    PrimExpr now = vars.get_or_null(Var(op));
    return now ? now : PrimExpr(op);
  });
  return rewriter(body);
}

}  // namespace tessera
