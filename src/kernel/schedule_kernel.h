#pragma once
// The loop program of a kernel.

#include "codegen/schedule_rule_symbol.h"
#include "kernel/kernel_tensors.h"
#include "kernel/schedule_rule.h"
#include "tir/function.h"

namespace tessera::kernel {

using codegen::kSchedulePlans;
using codegen::kScheduleRule;

/// What is known of a kernel while it is scheduled.
struct KernelChoice {
  RecordedPlans recorded;                      // what is decided already; an error where it does not fit
  std::vector<Decision>* decisions = nullptr;  // where decisions are written down
};
PrimFunc schedule_kernel_as(const Workload& workload, const CompileEnvironment& environment, const std::string& name,
                            const KernelChoice& choice);

/// The program of a workload, scheduled as a record says, else by the cheapest rule that fits, which it names with what was decided.
PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name);

}  // namespace tessera::kernel
