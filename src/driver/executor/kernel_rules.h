#pragma once
// Rules that take over a whole kernel: primitive functions that a pass marked with one (relay/transform/fuse/kernel_groups.h).

#include <functional>

#include "ir/target/target.h"
#include "relay/expr.h"
#include "te/schedule.h"

namespace tessera::relay {

/// How a kernel is made. Both functions are empty where the function has no rule, or none for its target.
struct KernelRule {
  /// The tensors of a call; none for what is computed as ever.
  std::function<Array<te::Tensor>(const Call* call, const Array<te::Tensor>& inputs)> compute;
  std::function<te::Schedule(const Array<te::Tensor>& outs)> schedule;
};
KernelRule kernel_rule(const FunctionNode* primitive, const Target& target);

}  // namespace tessera::relay
