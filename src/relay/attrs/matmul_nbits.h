#pragma once
// Attributes of matmuls with weights of a few bits.

#include "ir/attrs.h"

namespace tessera::relay {

struct MatmulNBitsAttrs : AttrsNode {
  int32_t units = 0, bits = 4;
  int32_t block_size = 32;  // neighbours along k that share a scale
  bool int8_data = false;   // data may be quantized to int8, block by block
  static constexpr NodeInfo info{"relay.attrs.MatmulNBitsAttrs", &AttrsNode::info};
  static void fields(auto f) {
    f("units", &MatmulNBitsAttrs::units);
    f("bits", &MatmulNBitsAttrs::bits);
    f("block_size", &MatmulNBitsAttrs::block_size);
    f("int8_data", &MatmulNBitsAttrs::int8_data);
  }
};

}  // namespace tessera::relay
