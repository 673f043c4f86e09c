#pragma once
// What runs a compiled model, and what it is linked against, with their options.

#include "ir/attrs.h"

namespace tessera::relay {

/// "graph" or "aot", with the options that were given or have defaults.
struct ExecutorNode : Object {
  String name;
  DictAttrs attrs;
  static constexpr NodeInfo info{"Executor", &Object::info};
  static void fields(auto f) {
    f("name", &ExecutorNode::name);
    f("attrs", &ExecutorNode::attrs);
  }
};

/// "cpp" or "crt", likewise.
struct RuntimeNode : Object {
  String name;
  DictAttrs attrs;
  static constexpr NodeInfo info{"Runtime", &Object::info};
  static void fields(auto f) {
    f("name", &RuntimeNode::name);
    f("attrs", &RuntimeNode::attrs);
  }
};

}  // namespace tessera::relay
