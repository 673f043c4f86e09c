#pragma once
// What of a model is tuned: its distinct kernels that rules plan with knobs.

#include <string>
#include <vector>

#include "ir/module.h"
#include "kernel/kernel_table.h"
#include "tune/measure.h"

namespace tessera::tune {

struct Task {
  kernel::KernelEntry kernel;
  std::string workload, computation;        // in records: on this machine, and on every one
  int64_t calls = 0;                        // in a run of the model
  std::vector<kernel::Decision> decisions;  // of the rules, with what else fits; empty: nothing to tune
  std::vector<TensorSpec> args;             // inputs, then results
  size_t inputs = 0;
  std::string why_not;  // it is not tuned; empty where it is

  bool is_tunable() const { return why_not.empty(); }
};

/// The kernels that functions of a module call, whose operators are fused, each distinct one once.
std::vector<Task> extract_tasks(const IRModule& fused, const kernel::CompileEnvironment& environment);

/// A kernel by itself.
Task task_of(const kernel::KernelEntry& kernel, const kernel::CompileEnvironment& environment);

/// A program as candidates are built, under a name.
IRModule module_of(const PrimFunc& program, const std::string& name);

/// The decisions of the rules, or others, as records hold them.
kernel::RecordedPlans plans_of(const std::vector<kernel::Decision>& decisions);

}  // namespace tessera::tune
