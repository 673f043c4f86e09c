#include "kernel/schedule_kernel.h"

#include "kernel/implementation.h"
#include "te/create_prim_func.h"
#include "te/prim_func.h"
#include "topi/cpu/default_rule.h"
#include "topi/gpu/default_rule.h"

namespace tessera::kernel {

PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name) {
  const Target& target = environment.target;
  KernelTensors tensors = kernel_tensors(workload, environment);
  Array<ObjectRef> params(tensors.inputs.begin(), tensors.inputs.end());
  for (const te::Tensor& output : tensors.outputs) params.push_back(output);
  if (tensors.rule.schedule)
    return te::schedule_to_prim_func(tensors.rule.schedule(tensors.outputs), params, String(name));
  if (tensors.implementation && tensors.implementation->fschedule) {
    Op anchor(workload.anchor->op.as<OpNode>());
    te::Schedule schedule =
        schedule_by(tensors.implementation, anchor, workload.anchor->attrs, tensors.outputs, target);
    return te::schedule_to_prim_func(schedule, params, String(name));
  }
  Array<te::Tensor> args = tensors.inputs;
  for (const te::Tensor& output : tensors.outputs) args.push_back(output);
  PrimFunc program = te::create_prim_func(args);
  return target.has_key("gpu") ? topi::schedule_default_gpu(program, target)
                               : topi::schedule_default_cpu(program, target);
}

}  // namespace tessera::kernel
