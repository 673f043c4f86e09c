#pragma once
// Names for extents that are known only at run time.

#include "relay/expr.h"
#include "relay/type/retyped.h"

namespace tessera::relay {

/// The module with a shape variable for each Any in the parameters of "main", and types inferred anew: extents
/// that are equal whatever they are (the two sides of a residual connection) can then be seen to be equal, and kernels
/// need not be ready to broadcast one of them. The module as it is where its functions do not allow it: branches that
/// give different extents, recursion over growing tensors.
IRModule name_dynamic_extents(const IRModule& mod);

/// A primitive function's parameters with one of `pool`'s variables for each distinct extent that is not a number; those
/// of Any are all distinct. Functions that differ in nothing but names of extents become equal. Types inside are open.
Function with_plain_extents(const Function& primitive, std::vector<PrimExpr>& pool);

}  // namespace tessera::relay
