// Assumptions about the values of buffers, which only the passes before needed to know, disappear.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {

/// evaluate(assume(...)) says something about the values of buffers and does nothing.
Stmt remove_assume(const Stmt& body) {
  return rewrite(body,
                 [](const Evaluate* op) -> Stmt { return is_call(op->value, "tir.assume") ? make_nop() : Stmt(op); });
}

}  // namespace tessera
