#include "kernel/rules/searched.h"

#include "runtime/registry.h"
#include "te/schedule.h"

namespace tessera::kernel {

std::optional<Plan> match_searched(Subject& subject) {
  if (!subject.environment.passes.flag(kUseAutoScheduler)) return std::nullopt;
  PackedFunc find = find_global("auto_scheduler.relay_integration.auto_schedule_topi_compute");
  if (!find) return std::nullopt;
  if (!subject.tensors) subject.tensors = kernel_tensors(*subject.workload, subject.environment);
  Array<te::Tensor> args = subject.tensors->inputs;
  for (const te::Tensor& output : subject.tensors->outputs) args.push_back(output);
  Any found = find(String(subject.kernel), args, subject.environment.target);
  if (found.is_null()) return std::nullopt;
  return Plan(found.to<te::Schedule>());
}

}  // namespace tessera::kernel
