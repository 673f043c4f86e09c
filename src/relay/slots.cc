#include "relay/slots.h"

#include "runtime/packed_func.h"

namespace tessera::relay {

Fusion fusion_of(const Op& op) {
  Any value = op.slot(kFusion);
  return value.is_null() ? Fusion::Opaque : static_cast<Fusion>(value.to<int64_t>());
}

Moves moves_of(const Call* call) {
  auto* op = call->op.as<OpNode>();
  Any value = op ? Op(op).slot(kMoves) : Any();
  return value.is_null() ? Moves::None : static_cast<Moves>(value.to<int64_t>());
}

bool moves_by_index(const Call* call) {
  const Moves moves = moves_of(call);
  return call->args.size() == 1 && moves >= Moves::View && moves <= Moves::Repeat;
}

}  // namespace tessera::relay
