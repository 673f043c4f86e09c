#pragma once
// Rules that take over a whole kernel: primitive functions that a pass marked with one (relay/transform/fuse/kernel_groups.h).

#include <functional>

#include "kernel/environment.h"
#include "relay/expr.h"
#include "te/schedule.h"

namespace tessera::kernel {

/// How a kernel is made. Both functions are empty where the function has no rule, or none for its target.
struct GroupRule {
  /// The tensors of a call; none for what is computed as ever.
  std::function<Array<te::Tensor>(const relay::Call* call, const Array<te::Tensor>& inputs)> compute;
  std::function<te::Schedule(const Array<te::Tensor>& outs)> schedule;
};
GroupRule group_rule(const relay::FunctionNode* primitive, const CompileEnvironment& environment);

}  // namespace tessera::kernel
