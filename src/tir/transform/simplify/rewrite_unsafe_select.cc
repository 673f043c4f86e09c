// A Select may evaluate both values; where one of them is not safe to evaluate (a load that its condition guards, a
// call with effects) it becomes the lazy if_then_else. What the condition itself loads is safe: select(A[i] < 0, 0, A[i]) stays.

#include <algorithm>

#include "ir/builtin.h"
#include "ir/prim/ops.h"
#include "ir/rewrite.h"
#include "tir/analysis/deep_equal.h"
#include "tir/transform/passes.h"

namespace tessera {
namespace {

using Loads = std::vector<const BufferLoad*>;

/// The loads that every evaluation of `e` makes.
Loads loads_of(const PrimExpr& e) {
  Loads out;
  pre_order(e, [&](const Object* node) {
    if (auto* load = cast_or_null<BufferLoad>(node)) out.push_back(load);
    return !node->is_a(And::info) && !node->is_a(Or::info) && !node->is_a(Select::info) && !node->is_a(Call::info);
  });
  return out;
}

/// True when evaluating `e` where its guard is false might fault; `made` are loads that have been made before.
bool is_unsafe(const PrimExpr& e, const Loads& made) {
  bool unsafe = false;
  pre_order(e, [&](const Object* node) {
    if (unsafe) return false;
    if (auto* load = cast_or_null<BufferLoad>(node)) {
      unsafe = std::none_of(made.begin(), made.end(),
                            [&](const BufferLoad* other) { return deep_equal(PrimExpr(load), PrimExpr(other)); });
      return false;
    }
    auto* call = cast_or_null<Call>(node);
    if (!call) return !unsafe;
    if (builtin::is(call, builtin::if_then_else())) {
      unsafe = is_unsafe(call->args[0], made);
      return false;  // its values are guarded already
    }
    if (builtin::is(call, builtin::address_of())) {
      auto* load = call->args[0].as<BufferLoad>();
      for (const PrimExpr& index : load->indices) unsafe = unsafe || is_unsafe(index, made);
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
    if (out->condition.dtype().lanes > 1) return out;
    const Loads made = loads_of(op->condition);
    if (!is_unsafe(op->true_value, made) && !is_unsafe(op->false_value, made)) return out;
    return make_call(out->dtype, builtin::if_then_else(), {out->condition, out->true_value, out->false_value});
  });
}

}  // namespace tessera
