#pragma once
// What the outputs of a model are called.

#include <string>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// The attribute of "main" with the names of its results, tuples opened: an Array<String>.
inline constexpr const char* kOutputNames = "output_tensor_names";

/// The names of the `count` tensors that a function gives: those of its attribute where it names as many, else
/// "output_0", "output_1", ...
std::vector<std::string> output_names(const FunctionNode* main, size_t count);

}  // namespace tessera::relay
