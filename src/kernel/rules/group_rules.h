#pragma once
// Rules that take over a whole kernel: primitive functions that a pass marked with one (relay/transform/fuse/kernel_groups.h).

#include "kernel/kernel_tensors.h"
#include "te/schedule.h"

namespace tessera::kernel {

/// How a kernel is made: its tensors, and their schedule, which is left to the rules of blocks where it is empty.
struct GroupKernel {
  ComputeCall compute;
  std::function<te::Schedule(const Array<te::Tensor>& outs)> schedule;
};

/// What a rule decided, which may be empty, and the kernel by that or by other values of it. A ScheduleError where they do not fit.
struct GroupRule {
  ObjectRef knobs;
  std::function<GroupKernel(const ObjectRef& knobs)> make;
};

/// Attention in one kernel: matmuls, softmax and what lies between them.
GroupRule attention_rule(const relay::FunctionNode* primitive, const CompileEnvironment& environment);
/// Reductions along rows and what is done to elements, row after row. The reductions go over the last axes and keep them.
GroupRule rows_rule(const relay::FunctionNode* primitive, const CompileEnvironment& environment);
/// Images of another size, whose columns are known.
GroupRule resample_rule(const relay::FunctionNode* primitive, const CompileEnvironment& environment);

/// The rule that a pass had in mind when it made the function; empty for others.
std::string group_name(const relay::FunctionNode* primitive);

}  // namespace tessera::kernel
