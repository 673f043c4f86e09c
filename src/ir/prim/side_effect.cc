#include "ir/prim/side_effect.h"

#include <algorithm>

#include "base/stack.h"
#include "ir/builtin.h"
#include "ir/rewrite.h"

namespace tessera {
namespace {

/// What a node does itself, whatever its operands do.
CallEffect own_effect(const Object* node) {
  static const TypeInfo* buffer_load = find_type("tir.BufferLoad");
  static const TypeInfo* producer_load = find_type("tir.ProducerLoad");
  if (auto* call = cast_or_null<Call>(node)) return std::min(builtin::effect_of(call), CallEffect::UpdateState);
  if (node->type() == buffer_load || node->type() == producer_load) return CallEffect::ReadState;
  return CallEffect::Pure;
}

}  // namespace

CallEffect side_effect(const PrimExpr& e) {
  CallEffect effect = CallEffect::Pure;
  post_order(e, [&](const Object* node) { effect = std::max(effect, own_effect(node)); });
  return effect;
}

CallEffect SideEffects::operator()(const PrimExpr& e) {
  if (auto it = known_.find(e.get()); it != known_.end()) return it->second.second;
  CallEffect effect = std::max(CallEffect::Pure, own_effect(e.get()));
  on_enough_stack([&] {
    pre_order(e, [&](const Object* node) {
      if (node == e.get()) return true;
      if (auto* part = cast_or_null<PrimExprNode>(node)) effect = std::max(effect, (*this)(PrimExpr(part)));
      return !node->is_a(PrimExprNode::info);
    });
  });
  known_.try_emplace(e.get(), e, effect);
  return effect;
}

}  // namespace tessera
