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

struct SimulatedQuantizeAttrs : AttrsNode {
  int32_t axis = -1;
  static constexpr NodeInfo info{"relay.attrs.SimulatedQuantizeAttrs", &AttrsNode::info};
  static void fields(auto f) { f("axis", &SimulatedQuantizeAttrs::axis); }
};

struct RequantizeAttrs : AttrsNode {
  int32_t axis = -1;
  String rounding = "None";       // of what is halfway: "UPWARD", which None means too, or "TONEAREST": away from zero
  String compute_dtype = "None";  // "int64" or "float32"; None: as the target suggests
  DataType out_dtype = DataType::Void();
  static constexpr NodeInfo info{"relay.attrs.RequantizeAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("axis", &RequantizeAttrs::axis);
    f("rounding", &RequantizeAttrs::rounding);
    f("compute_dtype", &RequantizeAttrs::compute_dtype);
    f("out_dtype", &RequantizeAttrs::out_dtype, Required);
  }
};

/// Axes of the scales of both operands.
struct BroadcastAttrs : AttrsNode {
  int32_t lhs_axis = -1, rhs_axis = -1;
  static constexpr NodeInfo info{"relay.attrs.BroadcastAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("lhs_axis", &BroadcastAttrs::lhs_axis);
    f("rhs_axis", &BroadcastAttrs::rhs_axis);
  }
};

}  // namespace tessera::relay
