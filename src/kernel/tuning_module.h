#pragma once
// A kernel as searches see it.

#include "kernel/environment.h"
#include "kernel/workload.h"

namespace tessera::kernel {

/// A module with the kernel as the function "main", a program of blocks that no rule has scheduled. An empty reference where no
/// search is possible: a group of operators with a rule of its own, dynamic extents, operators that are no tensor expressions.
IRModule tuning_module(const Workload& workload, const CompileEnvironment& environment);

}  // namespace tessera::kernel
