#pragma once
// Attributes of operators that functions of the host compute.

#include "ir/attrs.h"

namespace tessera::relay {

struct FftAttrs : AttrsNode {
  bool inverse = false;
  static constexpr NodeInfo info{"relay.attrs.FftAttrs", &AttrsNode::info};
  static void fields(auto f) { f("inverse", &FftAttrs::inverse); }
};

struct UniqueRowsAttrs : AttrsNode {
  bool sorted = true;
  static constexpr NodeInfo info{"relay.attrs.UniqueRowsAttrs", &AttrsNode::info};
  static void fields(auto f) { f("sorted", &UniqueRowsAttrs::sorted); }
};

}  // namespace tessera::relay
