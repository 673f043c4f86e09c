#include "relay/slots.h"

#include "ir/prim/ops.h"
#include "runtime/packed_func.h"

namespace tessera::relay {

Fusion fusion_of(const Op& op) {
  Any value = op.slot(kFusion);
  return value.is_null() ? Fusion::Opaque : static_cast<Fusion>(value.to<int64_t>());
}

namespace {

/// What a slot of the called operator says; empty for calls of functions.
Any slot_of(const Call* call, const char* slot) {
  auto* op = call->op.as<OpNode>();
  return op ? Op(op).slot(slot) : Any();
}

}  // namespace

Moves moves_of(const Call* call) {
  Any value = slot_of(call, kMoves);
  return value.is_null() ? Moves::None : static_cast<Moves>(value.to<int64_t>());
}

Reduction reduction_of(const Call* call) {
  Any value = slot_of(call, kReduction);
  return value.is_null() ? Reduction::None : static_cast<Reduction>(value.to<int64_t>());
}

std::optional<LayerChannels> layer_channels(const Call* call) {
  Any rule = slot_of(call, kLayerChannels);
  Any found = rule.is_null() ? Any() : rule.to<PackedFunc>()(Expr(call));
  if (found.is_null()) return std::nullopt;
  std::vector<int> axes;
  for (const PrimExpr& axis : found.to<Array<PrimExpr>>()) axes.push_back(static_cast<int>(*as_int(axis)));
  if (axes.size() != 5 && axes.size() != 9)
    throw Error(TypeError) << "the slot " << kLayerChannels << " gives five or nine numbers, not " << axes.size();
  LayerChannels out{axes[0], axes[1], axes[2], axes[3], axes[4]};
  if (axes.size() == 9)
    out.data_block = axes[5], out.result_block = axes[6], out.weight_in_block = axes[7], out.weight_out_block = axes[8];
  return out;
}

bool moves_by_index(const Call* call) {
  const Moves moves = moves_of(call);
  return call->args.size() == 1 && moves >= Moves::View && moves <= Moves::Repeat;
}

}  // namespace tessera::relay
