#pragma once
// Attributes of operators between floats and the bytes of minifloats.

#include "ir/attrs.h"

namespace tessera::relay {

struct MinifloatAttrs : AttrsNode {
  String format;                // a name of topi/minifloat.h
  bool saturate = true;         // what is too large becomes the largest number, not an infinity or a NaN
  String rounding = "nearest";  // "up" and "down" for powers of two
  static constexpr NodeInfo info{"relay.attrs.SmallFloatAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("format", &MinifloatAttrs::format, Required);
    f("saturate", &MinifloatAttrs::saturate);
    f("rounding", &MinifloatAttrs::rounding);
  }
};

}  // namespace tessera::relay
