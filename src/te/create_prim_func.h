#pragma once
// A graph of tensors as a function of blocks, for tir.Schedule to work on.

#include "te/tensor.h"
#include "tir/function.h"

namespace tessera::te {

/// One block per operation, in the order they depend on each other; `args` become the parameters, tensors between are
/// allocated in the root block. Knows compute and extern operations.
PrimFunc create_prim_func(const Array<Tensor>& args);

}  // namespace tessera::te
