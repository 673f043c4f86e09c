#pragma once
// Types with other extents, and functions of them.

#include <functional>
#include <vector>

#include "relay/expr.h"

namespace tessera::relay {

/// `type` with `change` applied to every extent of its tensors; an error for types that hold anything else.
Type map_extents(const Type& type, const std::function<PrimExpr(const PrimExpr&)>& change);
/// The function with parameters of these types, and whatever follows from them left open.
Function retyped(const Function& function, const std::vector<Type>& types);

}  // namespace tessera::relay
