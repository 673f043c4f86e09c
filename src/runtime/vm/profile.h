#pragma once
// Times of the kernel calls of the virtual machine.

#include <functional>

#include "runtime/profiling/profiling.h"
#include "runtime/vm/machine.h"

namespace tessera::vm {

/// What `invoke`, which runs the machine, spends in each kernel; it is called once more before, to warm caches.
profiling::Report profile(Machine& machine, const profiling::Collectors& collectors,
                          const std::function<void()>& invoke);

}  // namespace tessera::vm
