#pragma once
// The loop program of a kernel.

#include "kernel/kernel_tensors.h"
#include "tir/function.h"

namespace tessera::kernel {

/// The scheduled program of a workload: by the rule of its group where it has one, by the TE schedule of the anchor's
/// implementation where that has one, else by the target's rule of blocks.
PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name);

}  // namespace tessera::kernel
