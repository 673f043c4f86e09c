#pragma once
// Attributes of operators that are for loops.

#include "ir/attrs.h"

namespace tessera::relay {

/// `expected`: how many rows there will be in the end, 0 where nobody knows; memory is taken for as many.
struct AppendAttrs : AttrsNode {
  int64_t expected = 0;
  static constexpr NodeInfo info{"relay.attrs.AppendAttrs", &AttrsNode::info};
  static void fields(auto f) { f("expected", &AppendAttrs::expected); }
};

}  // namespace tessera::relay
