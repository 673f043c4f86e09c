#include "kernel/tuning_module.h"

#include "ir/prim/ops.h"
#include "kernel/kernel_tensors.h"
#include "kernel/rules/group_rules.h"
#include "te/create_prim_func.h"
#include "tir/attrs.h"

namespace tessera::kernel {
namespace {

bool is_static(const Array<te::Tensor>& tensors) {
  for (const te::Tensor& tensor : tensors)
    for (const PrimExpr& extent : tensor->shape)
      if (!as_int(extent)) return false;
  return true;
}

}  // namespace

IRModule tuning_module(const Workload& workload, const CompileEnvironment& environment) {
  IRModule none(nullptr);
  if (!group_name(workload.primitive.get()).empty()) return none;
  PrimFunc program;
  try {
    KernelTensors tensors = kernel_tensors(workload, environment);
    Array<te::Tensor> args = tensors.inputs;
    for (const te::Tensor& output : tensors.outputs) args.push_back(output);
    if (!is_static(args)) return none;
    program = te::create_prim_func(args);
  } catch (const Error& error) {
    if (error.foreign() || error.kind() == InternalError) throw;
    return none;
  }
  program = with_attr(program, attr::kGlobalSymbol, String("main"));
  program = with_attr(program, attr::kNoAlias, bool_imm(true));
  IRModule mod;
  GlobalVarNode var;
  var.name_hint = "main";
  mod.update(make(std::move(var)), program);
  return mod;
}

}  // namespace tessera::kernel
