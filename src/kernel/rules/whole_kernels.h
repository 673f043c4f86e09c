#pragma once
// What rules for whole kernels share.

#include "kernel/schedule_rule.h"

namespace tessera::kernel {

/// The tensors of the workload as its strategies give them.
const KernelTensors& tensors_of(Subject& subject);
/// Their program, whose stages are scheduled by the rules of blocks.
PrimFunc by_blocks(Subject& subject, const KernelTensors& tensors);

}  // namespace tessera::kernel
