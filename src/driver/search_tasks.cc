// What a model has to search: the kernels of its optimised form as tensors, each distinct one once.

#include "driver/relay_build.h"
#include "ir/structural/equal.h"
#include "kernel/kernel_tensors.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// How often each primitive function is called, in order of first call.
std::vector<std::pair<relay::Function, int64_t>> count_kernels(const IRModule& mod) {
  std::vector<std::pair<relay::Function, int64_t>> out;
  for (const auto& [var, function] : mod->functions) {
    if (!function.as<relay::FunctionNode>()) continue;
    relay::post_order(function, [&](const relay::Expr& expr) {
      auto* call = expr.as<relay::Call>();
      auto* primitive = call ? call->op.as<relay::FunctionNode>() : nullptr;
      if (!primitive || !primitive->attrs.is_true(relay::attr::kPrimitive)) return;
      for (auto& [known, count] : out)
        if (structural_equal(known, relay::Function(primitive))) {
          ++count;
          return;
        }
      out.emplace_back(relay::Function(primitive), 1);
    });
  }
  return out;
}

/// [name, tensors, number of calls] of each; tensors are empty where they cannot be had.
Array<ObjectRef> kernels_to_search(IRModule optimized, Target target) {
  const auto environment = kernel::CompileEnvironment::make(target, target.host(), PassContext::current());
  Array<ObjectRef> out;
  for (const auto& [primitive, count] : count_kernels(optimized)) {
    Array<te::Tensor> tensors;
    try {
      kernel::KernelTensors found = kernel::kernel_tensors(kernel::workload_of(primitive, target), environment);
      tensors = found.inputs;
      for (const te::Tensor& output : found.outputs) tensors.push_back(output);
    } catch (const Error&) {  // computed otherwise than by tensor expressions
    }
    out.push_back(Array<ObjectRef>{String(kernel::kernel_name(primitive)), tensors, number_boxes.box_int(count)});
  }
  return out;
}

Globals search_task_globals{{"auto_scheduler.KernelsToSearch", kernels_to_search}};

}  // namespace
}  // namespace tessera
