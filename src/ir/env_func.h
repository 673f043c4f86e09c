#pragma once
// A global function as a node: programs hold it, and save it by its name.

#include "runtime/packed_func.h"

namespace tessera {

struct EnvFuncNode : Object {
  String name;
  static constexpr NodeInfo info{"EnvFunc", &Object::info};
  static void fields(auto f) { f("name", &EnvFuncNode::name); }
};
using EnvFunc = Ref<EnvFuncNode>;

/// The function as it is now; an error when there is none of that name.
PackedFunc function_of(const EnvFunc& node);

}  // namespace tessera
