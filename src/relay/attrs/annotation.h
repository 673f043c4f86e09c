#pragma once
// Attributes of annotations.

#include "ir/attrs.h"
#include "ir/expr.h"

namespace tessera::relay {

/// Where a region begins or ends that an external code generator compiles.
struct CompilerAttrs : AttrsNode {
  String compiler;
  static constexpr NodeInfo info{"relay.attrs.CompilerAttrs", &AttrsNode::info};
  static void fields(auto f) { f("compiler", &CompilerAttrs::compiler, Required); }
};

}  // namespace tessera::relay
