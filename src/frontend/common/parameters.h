#pragma once
// Constants of a file as parameters of the imported function.

#include <string>
#include <utility>
#include <vector>

#include "relay/expr.h"

namespace tessera::frontend {

/// The expression with a variable for each of these constants that it still uses. Variables are appended to `variables`, and
/// their values go to `params`; a name that is taken gets a number.
relay::Expr with_parameters(const relay::Expr& root, const std::vector<std::pair<std::string, relay::Expr>>& constants,
                            Array<relay::Var>* variables, Map<String, NDArray>* params);

}  // namespace tessera::frontend
