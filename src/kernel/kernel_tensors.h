#pragma once
// A primitive function as tensors.

#include "kernel/environment.h"
#include "kernel/group_rules.h"
#include "kernel/workload.h"
#include "relay/strategy.h"

namespace tessera::kernel {

/// The tensors of a workload, each call by the implementation that its strategy chose. Tuples among parameters and results
/// stand for their fields.
struct KernelTensors {
  Array<te::Tensor> inputs, outputs;
  relay::OpImplementation implementation;  // of the anchor; empty where a rule computes it, or nothing is called
  GroupRule rule;                          // decides instead, where the function has one
};
KernelTensors kernel_tensors(const Workload& workload, const CompileEnvironment& environment);

}  // namespace tessera::kernel
