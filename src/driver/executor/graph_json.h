#pragma once
// The text of a graph as v0.10 lays it out, so that files can be compared.

#include <string>

#include "base/map.h"

namespace tessera::relay {

/// Two spaces a level; lists of numbers on one line, except among the values "inputs" and "heads" name.
std::string graph_text(const ObjectRef& graph);

}  // namespace tessera::relay
