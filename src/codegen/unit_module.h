#pragma once
// Modules of machine code that are partly made of what was cached from earlier compilations.

#include <functional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/target/target.h"
#include "runtime/module/module.h"

namespace tessera::codegen {

/// Functions that refer to each other, as machine code in one piece.
struct UnitBytes {
  std::vector<std::string> functions;  // their symbols
  std::string bytes;
};
/// The units of a module of type "llvm" that was compiled in this process; none of any other.
std::vector<UnitBytes> units_of(const Module& module);

/// A module of these functions, compiled, and of cached units. `source` gives the functions the latter were made
/// from when somebody wants to read the whole.
Module build_with_units(const IRModule& functions, const Target& target, const std::vector<std::string>& cached,
                        std::function<IRModule()> source);

}  // namespace tessera::codegen
