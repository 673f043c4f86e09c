#pragma once
// The loop program of a kernel.

#include "codegen/schedule_rule_symbol.h"
#include "kernel/kernel_tensors.h"
#include "tir/function.h"

namespace tessera::kernel {

using codegen::kSchedulePlans;
using codegen::kScheduleRule;

/// The program of a workload, scheduled by the cheapest rule that fits, which it names with what was decided.
PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name);

}  // namespace tessera::kernel
