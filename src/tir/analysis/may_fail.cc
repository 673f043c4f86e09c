#include "tir/analysis/may_fail.h"

#include "ir/prim/ops.h"
#include "ir/rewrite.h"

namespace tessera {

bool may_fail(const PrimExpr& e) {
  bool found = false;
  pre_order(e, [&](const Object* node) {
    bool divides =
        node->is_a(Div::info) || node->is_a(Mod::info) || node->is_a(FloorDiv::info) || node->is_a(FloorMod::info);
    if (divides) {
      const PrimExpr& divisor = static_cast<const BinaryNode*>(node)->b;
      found = found || (divisor.dtype().is_integral() && (!is_const(divisor) || is_zero(divisor)));
    }
    return !found;
  });
  return found;
}

}  // namespace tessera
