#pragma once
// Functions that compute in host memory, called by programs of devices too.

#include "runtime/packed_func.h"

namespace tessera {

/// `function`, for tensors of any device: the first `inputs` ones are copied to the host, the others are copied back from there.
/// It returns when all is done, as functions of the host do.
PackedFunc on_host(PackedFunc function, int inputs);

/// The same of a C++ function, whose name errors tell.
template <class F>
PackedFunc on_host(const char* name, F function, int inputs) {
  return on_host(typed(name, std::move(function)), inputs);
}

}  // namespace tessera
