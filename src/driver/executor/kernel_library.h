#pragma once
// Machine code for the kernels of a model, some of which earlier compilations have made.

#include "kernel/kernel_table.h"
#include "runtime/module/module.h"

namespace tessera::relay {

/// All kernels, lowered, on all cores.
Map<Target, IRModule> lower_kernels(const Map<Target, IRModule>& programs,
                                    const kernel::CompileEnvironment& environment);

/// The library of all kernels. `more` are lowered functions of the host beside them. What the cache did not have it has afterwards.
/// Modules of external code generators are imported.
Module build_kernels(const kernel::KernelSet& kernels, const Target& host, const IRModule& more = {});

}  // namespace tessera::relay
