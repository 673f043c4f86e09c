#pragma once
// The imported function, with constants of the file as parameters.

#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "relay/expr.h"

namespace tessera::frontend {

/// The expression with a variable for each of these constants that it still uses. Variables are appended to `variables`, and
/// their values go to `params`; a name that is taken gets a number.
relay::Expr with_parameters(const relay::Expr& root, const std::vector<std::pair<std::string, relay::Expr>>& constants,
                            Array<relay::Var>* variables, Map<String, NDArray>* params);

/// A module of one function, main.
IRModule module_of_main(const Array<relay::Var>& params, const relay::Expr& body, const DictAttrs& attrs);

}  // namespace tessera::frontend
