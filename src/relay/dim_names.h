#pragma once
// Names of the dimensions of a function's parameters: those of one name are equal, whatever they are.

#include "relay/expr.h"

namespace tessera::relay {

namespace attr {
/// Map from parameters to a name for each of their dimensions, "" where it has none.
inline constexpr const char* kDimNames = "dim_names";
}  // namespace attr

/// The names of the dimensions of a parameter, one each; empty where the function gives it none.
std::vector<std::string> dim_names(const Function& function, const Var& param);

}  // namespace tessera::relay
