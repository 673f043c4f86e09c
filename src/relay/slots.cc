#include "relay/slots.h"

#include "runtime/packed_func.h"

namespace tessera::relay {

Fusion fusion_of(const Op& op) {
  Any value = op.slot(kFusion);
  return value.is_null() ? Fusion::Opaque : static_cast<Fusion>(value.to<int64_t>());
}

}  // namespace tessera::relay
