#pragma once
// What the types of a node's fields do not say, asked when a node comes from outside.

#include <functional>
#include <string>

#include "base/object.h"

namespace tessera {

/// Says what is wrong with the node, or nothing.
using JsonCheck = std::function<std::string(const Object*)>;
void set_json_check(const NodeInfo& type, JsonCheck check);

}  // namespace tessera
