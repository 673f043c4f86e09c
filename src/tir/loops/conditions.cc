#include "tir/loops/conditions.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera::loops {

std::vector<PrimExpr> conjuncts(const PrimExpr& condition) {
  std::vector<PrimExpr> out, pending{condition};
  while (!pending.empty()) {
    PrimExpr next = pending.back();
    pending.pop_back();
    if (auto* both = next.as<And>()) {
      pending.push_back(both->b);
      pending.push_back(both->a);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

PrimExpr all_of(const std::vector<PrimExpr>& conditions) {
  PrimExpr out = bool_imm(true);
  for (const PrimExpr& condition : conditions) out = logical_and(out, condition);
  return out;
}

PrimExpr conditions_without(const PrimExpr& condition, const std::function<bool(const VarNode*)>& is_dropped) {
  std::vector<PrimExpr> kept;
  for (const PrimExpr& part : conjuncts(condition))
    if (!uses_var(part, is_dropped)) kept.push_back(part);
  return all_of(kept);
}

}  // namespace tessera::loops
