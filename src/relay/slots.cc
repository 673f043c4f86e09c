#include "relay/slots.h"

#include "runtime/packed_func.h"

namespace tessera::relay {

Fusion fusion_of(const Op& op) {
  Any value = op.slot(kFusion);
  return value.is_null() ? Fusion::Opaque : static_cast<Fusion>(value.to<int64_t>());
}

Array<te::Tensor> compute_of(const Op& op, const Attrs& attrs, const Array<te::Tensor>& inputs, const Type& out_type) {
  Any value = op.slot(kCompute);
  if (value.is_null()) throw Error(NotImplementedError) << "the operator " << op->name << " has no compute";
  return value.to<PackedFunc>()(attrs, inputs, out_type).to<Array<te::Tensor>>();
}

}  // namespace tessera::relay
