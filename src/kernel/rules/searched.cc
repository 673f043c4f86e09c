#include "kernel/rules/searched.h"

#include "relay/slots.h"
#include "relay/walk.h"
#include "runtime/registry.h"
#include "te/schedule.h"

namespace tessera::kernel {

bool has_complex_op(const relay::Function& primitive) {
  bool found = false;
  relay::post_order(primitive, [&](const relay::Expr& expr) {
    auto* call = expr.as<relay::Call>();
    auto* op = call ? call->op.as<OpNode>() : nullptr;
    found |= op && relay::fusion_of(Op(op)) == relay::Fusion::OutputElementwise;
  });
  return found;
}

std::optional<Plan> match_searched(Subject& subject) {
  if (!subject.environment.passes.flag(kUseAutoScheduler)) return std::nullopt;
  PackedFunc find = find_global("auto_scheduler.relay_integration.auto_schedule_topi_compute");
  if (!find) return std::nullopt;
  if (!subject.tensors) subject.tensors = kernel_tensors(*subject.workload, subject.environment);
  Array<te::Tensor> args = subject.tensors->inputs;
  for (const te::Tensor& output : subject.tensors->outputs) args.push_back(output);
  Any found =
      find(String(subject.kernel), args, subject.environment.target, has_complex_op(subject.workload->primitive));
  if (found.is_null()) return std::nullopt;
  return Plan(found.to<te::Schedule>());
}

}  // namespace tessera::kernel
