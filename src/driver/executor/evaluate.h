#pragma once
// Computing at compile time, on the host.

#include "relay/expr.h"

namespace tessera::relay {

/// The tensors that a function without parameters gives: the fields of the tuple it returns, tuples among them opened. What
/// op/evaluate has no loop for is compiled as one program for this machine and run once, outside of the pass context of
/// the caller.
Array<NDArray> evaluate_constants(const Function& function);

}  // namespace tessera::relay
