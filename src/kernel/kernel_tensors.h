#pragma once
// A primitive function as tensors.

#include <functional>

#include "kernel/environment.h"
#include "kernel/workload.h"
#include "relay/strategy.h"

namespace tessera::kernel {

/// The tensors of a workload, each call by the implementation that its strategy chose. Tuples among parameters and results
/// stand for their fields.
struct KernelTensors {
  Array<te::Tensor> inputs, outputs;
  relay::OpImplementation implementation;  // of the anchor; empty where `ComputeCall` computes it, or nothing is called
};
/// The tensors of a call by a rule of a whole kernel; none for what is computed as ever.
using ComputeCall = std::function<Array<te::Tensor>(const relay::Call* call, const Array<te::Tensor>& inputs)>;
KernelTensors kernel_tensors(const Workload& workload, const CompileEnvironment& environment,
                             const ComputeCall& compute = {});

}  // namespace tessera::kernel
