#pragma once
// Attributes of annotations.

#include "ir/attrs.h"
#include "ir/expr.h"
#include "ir/target/virtual_device.h"

namespace tessera::relay {

/// Where a region begins or ends that an external code generator compiles.
struct CompilerAttrs : AttrsNode {
  String compiler;
  static constexpr NodeInfo info{"relay.attrs.CompilerAttrs", &AttrsNode::info};
  static void fields(auto f) { f("compiler", &CompilerAttrs::compiler, Required); }
};

/// on_device: the operand is on the device, and with `constrain_result` what it is used for too.
struct OnDeviceAttrs : AttrsNode {
  VirtualDevice virtual_device;
  bool constrain_result = false, constrain_body = true;
  static constexpr NodeInfo info{"relay.attrs.OnDeviceAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("virtual_device", &OnDeviceAttrs::virtual_device, Required);
    f("constrain_result", &OnDeviceAttrs::constrain_result);
    f("constrain_body", &OnDeviceAttrs::constrain_body);
  }
};

/// device_copy: from one device to another.
struct DeviceCopyAttrs : AttrsNode {
  VirtualDevice src_virtual_device, dst_virtual_device;
  static constexpr NodeInfo info{"relay.attrs.DeviceCopyAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("src_virtual_device", &DeviceCopyAttrs::src_virtual_device, Required);
    f("dst_virtual_device", &DeviceCopyAttrs::dst_virtual_device, Required);
  }
};

/// relay.op.annotation.simulated_quantize: what the tensor is to the operator that reads it (0 as it is, 1 data, 2 weight,
/// 3 activation), whether its integers have a sign, and how halves are rounded.
struct QuantizeAnnotationAttrs : AttrsNode {
  int32_t kind = 0;
  bool sign = true;
  String rounding = "round";  // to the even one; "UPWARD": up
  static constexpr NodeInfo info{"relay.attrs.QuantizeAnnotationAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("kind", &QuantizeAnnotationAttrs::kind);
    f("sign", &QuantizeAnnotationAttrs::sign);
    f("rounding", &QuantizeAnnotationAttrs::rounding);
  }
};

}  // namespace tessera::relay
