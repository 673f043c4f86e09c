#pragma once
// Attributes of operators between floats and the bytes of small floats.

#include "ir/attrs.h"

namespace tessera::relay {

struct SmallFloatAttrs : AttrsNode {
  String format;                // a name of topi/small_float.h
  bool saturate = true;         // what is too large becomes the largest number, not an infinity or a NaN
  String rounding = "nearest";  // "up" and "down" for powers of two
  static constexpr NodeInfo info{"relay.attrs.SmallFloatAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("format", &SmallFloatAttrs::format, Required);
    f("saturate", &SmallFloatAttrs::saturate);
    f("rounding", &SmallFloatAttrs::rounding);
  }
};

}  // namespace tessera::relay
