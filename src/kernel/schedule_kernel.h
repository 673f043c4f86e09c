#pragma once
// The loop program of a kernel.

#include "codegen/schedule_rule_symbol.h"
#include "kernel/kernel_tensors.h"
#include "tir/function.h"

namespace tessera::kernel {

using codegen::kScheduleRule;
/// The attribute of a kernel's program that says what those of its rules decided that have knobs:
/// ["matmul(rows=13, vectors=2, step=768)"].
inline constexpr const char* kSchedulePlans = "tessera.schedule_plans";

/// The program of a workload, scheduled by the cheapest rule that fits, which it names.
PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name);

}  // namespace tessera::kernel
