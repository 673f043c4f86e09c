// Buffers whose strides are only known at run time are nearly always compact. The body is made twice: for neighbouring
// elements next to each other, which vectorises well, and for any strides.
//
//   body(stride)     =>     if stride == 1: body(1) else: body(stride)

#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {

PrimFunc specialize_strides(const PrimFunc& function) {
  Map<Var, PrimExpr> ones;
  PrimExpr all_one;
  for (const auto& [param, buffer] : function->preflattened_buffer_map) {
    if (buffer->buffer_type != BufferType::AutoBroadcast || buffer->strides.empty()) continue;
    Var last = downcast_or_null<Var>(buffer->strides.back());
    if (!last || ones.count(last) || !uses_var(function->body, last)) continue;
    PrimExpr one = make_const(last->dtype, 1);
    ones.set(last, one);
    all_one = all_one ? logical_and(all_one, equal(last, one)) : equal(last, one);
  }
  if (!all_one) return function;
  Stmt compact = simplify(substitute(function->body, ones));
  return with_body(function, make(IfThenElse{.condition = all_one, .then_case = compact, .else_case = function->body}));
}

}  // namespace tessera
