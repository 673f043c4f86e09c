// The init of a reduction block runs in its first iteration.
//
//   with init: B[vi] = 0                    if vk == 0: B[vi] = 0
//   B[vi] = B[vi] + A[vi, vk]        =>     B[vi] = B[vi] + A[vi, vk]

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

Stmt with_init(const BlockNode* block) {
  PrimExpr is_first;
  for (const IterVar& axis : block->iter_vars) {
    if (axis->iter_type != IterType::CommReduce) continue;
    PrimExpr here = equal(axis->var, axis->dom->min);
    is_first = is_first ? logical_and(is_first, here) : here;
  }
  Stmt init = block->init;
  if (is_first) init = make(IfThenElse{.condition = is_first, .then_case = init});
  return sequence({init, block->body});
}

}  // namespace

Stmt lower_init_block(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const BlockNode* op) -> Stmt {
    Ref<BlockNode> inner = self.children(op);
    if (!inner->init) return inner;
    BlockNode out(*inner.get());
    out.body = with_init(inner.get());
    out.init = nullptr;
    return make(std::move(out));
  });
}

}  // namespace tessera
