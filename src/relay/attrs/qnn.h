#pragma once
// Attributes of the operators under qnn, whose integers stand for real numbers: value = scale * (integer - zero point).

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// `axis` is the dimension along which scales and zero points that are vectors vary; in a scalar's case it means nothing.
struct QuantizeAttrs : AttrsNode {
  DataType out_dtype = DataType::Void();
  int32_t axis = -1;
  String rounding = "None";  // of what is halfway: "None" away from zero, "TOEVEN" to the even number
  static constexpr NodeInfo info{"relay.attrs.QuantizeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("out_dtype", &QuantizeAttrs::out_dtype, Required);
    f("axis", &QuantizeAttrs::axis);
    f("rounding", &QuantizeAttrs::rounding);
  }
};

struct DequantizeAttrs : AttrsNode {
  int32_t axis = -1;
  static constexpr NodeInfo info{"relay.attrs.DequantizeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &DequantizeAttrs::axis); }
};

}  // namespace tessera::relay
