#pragma once
// The loop program of a kernel.

#include "kernel/kernel_tensors.h"
#include "tir/function.h"

namespace tessera::kernel {

/// The attribute of a kernel's program that names the schedule rules that made it: "attention", "te_schedule(gemm.cpu)", and
/// where stages have rules of their own all of them, "pad, contraction".
inline constexpr const char* kScheduleRule = "tessera.schedule_rule";

/// The program of a workload, scheduled by the cheapest rule that fits, which it names.
PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name);

}  // namespace tessera::kernel
