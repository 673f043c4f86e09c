// A Select may evaluate both values; where one of them is not safe to evaluate (a load that its condition guards, a
// call with effects) it becomes the lazy if_then_else.

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

/// True when evaluating `e` where its guard is false might fault.
bool is_unsafe(const PrimExpr& e) {
  bool unsafe = false;
  pre_order(e, [&](const Object* node) {
    if (unsafe) return false;
    if (node->is_a(BufferLoad::info)) unsafe = true;
    auto* call = cast_or_null<Call>(node);
    if (!call) return !unsafe;
    if (builtin::is(call, builtin::if_then_else())) {
      unsafe = is_unsafe(call->args[0]);
      return false;  // its values are guarded already
    }
    if (builtin::is(call, builtin::address_of())) {
      auto* load = call->args[0].as<BufferLoad>();
      for (const PrimExpr& index : load->indices) unsafe = unsafe || is_unsafe(index);
      return false;
    }
    if (builtin::effect_of(call) > CallEffect::Pure) unsafe = true;
    return !unsafe;
  });
  return unsafe;
}

}  // namespace

Stmt rewrite_unsafe_select(const Stmt& body) {
  return rewrite(body, [](Rewriter& self, const Select* op) -> PrimExpr {
    Ref<Select> out = self.children(op);
    bool lazy = (is_unsafe(op->true_value) || is_unsafe(op->false_value)) && out->condition.dtype().lanes == 1;
    if (!lazy) return out;
    return make_call(out->dtype, builtin::if_then_else(), {out->condition, out->true_value, out->false_value});
  });
}

}  // namespace tessera
