#pragma once
// What is known of a special memory of a device, such as the buffers of an accelerator.

#include <string>

#include "ir/expr.h"

namespace tessera {

/// Sizes are counted in bits: of the unit in which the device counts addresses, of the whole memory and of the longest
/// vector access. `head_address` is where it begins, where that is fixed.
struct MemoryInfoNode : Object {
  int32_t unit_bits = 0, max_num_bits = 0, max_simd_bits = 0;
  PrimExpr head_address;
  static constexpr NodeInfo info{"MemoryInfo", &Object::info};
  static void fields(auto f) {
    f("unit_bits", &MemoryInfoNode::unit_bits);
    f("max_num_bits", &MemoryInfoNode::max_num_bits);
    f("max_simd_bits", &MemoryInfoNode::max_simd_bits);
    f("head_address", &MemoryInfoNode::head_address, Optional);
  }
};
using MemoryInfo = Ref<MemoryInfoNode>;

/// What the function "tvm.info.mem.<scope>" gives; empty where none is registered.
MemoryInfo memory_info(const std::string& scope);

}  // namespace tessera
