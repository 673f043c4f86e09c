// Operators that give their input and tell a pass something: annotation.stop_fusion, checkpoint, compiler_begin and _end,
// on_device, device_copy.

#include "relay/attrs/annotation.h"
#include "op/records.h"
#include "op/rules.h"
#include "topi/elementwise.h"

namespace tessera::op {
namespace {

using relay::CompilerAttrs;
using relay::DeviceCopyAttrs;
using relay::OnDeviceAttrs;
register_types<CompilerAttrs, OnDeviceAttrs, DeviceCopyAttrs> annotation_types;

Array<te::Tensor> identity(const Attrs&, const Array<te::Tensor>& in, const Type&) {
  Array<te::Tensor> out;
  for (const te::Tensor& tensor : in) out.push_back(topi::identity(tensor));
  return out;
}

bool same_type(TypeQuery& query) {
  if (!query.is_known(0)) return false;
  query.result(query.type(0));
  return true;
}

}  // namespace

static void annotation_records() {
  OpRecord("annotation.stop_fusion")
      .doc("The input itself; it is not fused with what uses it.")
      .input("data", "the input")
      .support_level(10)
      .type("Identity", same_as_input)
      .fusion(Fusion::Opaque)
      .precision(Precision::Follow)
      .strategy_name("")
      .compute(identity)
      .stateful(false);
  OpRecord("annotation.checkpoint")
      .doc("The input itself; gradients compute again what it is made of.")
      .input("data", "the input")
      .support_level(10)
      .type("Identity", same_type)
      .fusion(Fusion::Opaque)
      .compute(identity)
      .stateful(false);
  for (const char* name : {"annotation.compiler_begin", "annotation.compiler_end"})
    OpRecord(name)
        .doc("The input itself, where a region of an external code generator begins or ends.")
        .attrs<CompilerAttrs>()
        .input("data", "the input")
        .support_level(10)
        .type("Identity", same_type)
        .fusion(Fusion::Opaque)
        .strategy_name("")
        .compute(identity)
        .stateful(false);
  OpRecord("on_device")
      .doc("The input itself, which PlanDevices puts on the device.")
      .attrs<OnDeviceAttrs>()
      .input("body", "the input")
      .support_level(10)
      .type("Identity", same_type)
      .fusion(Fusion::Opaque)
      .noncomputational()
      .stateful(false);
  OpRecord("device_copy")
      .doc("The input, copied to another device.")
      .attrs<DeviceCopyAttrs>()
      .input("data", "the input")
      .support_level(10)
      .type("Identity", same_type)
      .fusion(Fusion::Opaque)
      .noncomputational()
      .stateful(false);
}

[[gnu::init_priority(kFamilies)]] static const OpFamily annotation_family{annotation_records};

}  // namespace tessera::op
