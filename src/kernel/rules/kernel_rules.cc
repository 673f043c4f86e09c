// Rules for whole kernels: groups of operators that a pass made with a rule in mind, TE schedules, programs of blocks.

#include "kernel/implementation.h"
#include "kernel/rules/extent_versions.h"
#include "kernel/rules/group_rules.h"
#include "kernel/rules/leading_axes.h"
#include "kernel/rules/searched.h"
#include "kernel/rules/whole_kernels.h"
#include "kernel/schedule_blocks.h"
#include "kernel/tuning_module.h"
#include "op/nn/matmul_nbits.h"
#include "op/nn/recurrent.h"
#include "relay/attrs/search.h"
#include "relay/attrs/vision.h"
#include "relay/inspect.h"
#include "relay/op_names.h"
#include "te/create_prim_func.h"
#include "te/prim_func.h"
#include "topi/cpu/contraction/attention.h"
#include "topi/cpu/nbits/nbits_matmul.h"
#include "topi/cpu/rows.h"
#include "topi/gpu/ordered/device_nms.h"
#include "topi/gpu/ordered/device_scan.h"
#include "topi/program.h"
#include "topi/transform.h"

namespace tessera::kernel {

const KernelTensors& tensors_of(Subject& subject) {
  if (!subject.tensors) subject.tensors = kernel_tensors(*subject.workload, subject.environment);
  return *subject.tensors;
}

PrimFunc by_blocks(Subject& subject, const KernelTensors& tensors) {
  Array<te::Tensor> args = tensors.inputs;
  for (const te::Tensor& output : tensors.outputs) args.push_back(output);
  return schedule_blocks(te::create_prim_func(args), subject.environment, &subject.chosen, subject.kernel);
}

namespace {

PrimFunc by_te_schedule(const te::Schedule& schedule, const KernelTensors& tensors, const std::string& name) {
  Array<ObjectRef> params(tensors.inputs.begin(), tensors.inputs.end());
  for (const te::Tensor& output : tensors.outputs) params.push_back(output);
  te::Binds compact;  // tensors of dynamic extents too: kernels are given nothing else
  for (const ObjectRef& param : params) {
    const auto tensor = downcast<te::Tensor>(param);
    compact.set(tensor, decl_buffer(tensor->shape, tensor->dtype, tensor->op->name));
  }
  return te::schedule_to_prim_func(schedule, params, String(name), compact);
}

/// What a search has found for the kernel, where a database is asked.
std::optional<Plan> match_tuned(Subject& subject) {
  const CompileEnvironment& environment = subject.environment;
  if (!environment.tuned) return std::nullopt;
  IRModule mod = tuning_module(*subject.workload, environment);
  PrimFunc found = mod.defined() ? environment.tuned(mod, environment.target, subject.kernel) : PrimFunc();
  return found ? std::optional<Plan>(found) : std::nullopt;
}

/// A group whose operators are computed as `make` says, and scheduled so where that says it too.
ScheduleRule group(const char* name, GroupRule (*make)(const relay::FunctionNode*, const CompileEnvironment&),
                   const TypeInfo* knobs = nullptr) {
  return {name,
          "llvm",
          RuleScope::Kernel,
          0,
          [name, make](Subject& subject) -> std::optional<Plan> {
            const relay::FunctionNode* primitive = subject.workload->primitive.get();
            if (group_name(primitive) != name) return std::nullopt;
            GroupRule rule = make(primitive, subject.environment);
            return Plan(rule, rule.knobs);
          },
          [name](Subject& subject, const Plan& plan) {
            const GroupKernel kernel = plan.as<GroupRule>().make(plan.knobs);
            KernelTensors tensors = kernel_tensors(*subject.workload, subject.environment, kernel.compute);
            subject.chosen.note(name, plan.knobs);
            subject.scheduled = kernel.schedule
                                    ? by_te_schedule(kernel.schedule(tensors.outputs), tensors, subject.kernel)
                                    : by_blocks(subject, tensors);
          },
          {},
          knobs};
}

/// The TE schedule of the anchor's implementation: TE templates, and strategies and schedules of users.
std::optional<Plan> match_te_schedule(Subject& subject) {
  const relay::OpImplementation& chosen = tensors_of(subject).implementation;
  return chosen && chosen->fschedule ? std::optional<Plan>(chosen) : std::nullopt;
}

void apply_te_schedule(Subject& subject, const Plan& plan) {
  const auto& implementation = plan.as<relay::OpImplementation>();
  const relay::Call* anchor = subject.workload->anchor;
  const KernelTensors& tensors = tensors_of(subject);
  te::Schedule schedule = schedule_by(implementation, Op(anchor->op.as<OpNode>()), anchor->attrs, tensors.outputs,
                                      subject.environment.target);
  subject.scheduled = by_te_schedule(schedule, tensors, subject.kernel);
  subject.chosen.rules.push_back("te_schedule(" + implementation->name.str() + ")");
}

/// Tiles of the matmul by the state fill the registers of the machine; on a GPU one thread computes all.
std::optional<Plan> match_recurrent(Subject& subject) {
  const relay::Call* anchor = subject.workload->anchor;
  return anchor && relay::op_name(anchor) == relay::ops::recurrent ? std::optional<Plan>(anchor) : std::nullopt;
}

void apply_recurrent(Subject& subject, const Plan& plan) {
  const relay::Call* anchor = plan.as<const relay::Call*>();
  auto compute = [&](const relay::Call* call, const Array<te::Tensor>& in) -> Array<te::Tensor> {
    if (call != anchor) return {};
    auto* attrs = call->attrs_as<relay::RecurrentAttrs>();
    const topi::RecurrentInputs inputs = op::recurrent_inputs(attrs, in);
    const topi::Machine& machine = subject.environment.machine;
    const topi::RecurrentTiles in_a_thread{.memory = "local"};
    return topi::recurrent(op::recurrent_layer(attrs), inputs,
                           machine ? topi::recurrent_tiles(machine, inputs) : in_a_thread);
  };
  subject.chosen.rules.emplace_back(subject.environment.machine ? "recurrent" : "recurrent_in_a_thread");
  subject.scheduled = by_blocks(subject, kernel_tensors(*subject.workload, subject.environment, compute));
}

std::optional<Plan> match_matmul_nbits(Subject& subject) {
  const relay::Call* anchor = subject.workload->anchor;
  return anchor && relay::op_name(anchor) == relay::ops::matmul_nbits ? std::optional<Plan>(anchor) : std::nullopt;
}

void apply_matmul_nbits(Subject& subject, const Plan& plan) {
  const relay::Call* anchor = plan.as<const relay::Call*>();
  auto compute = [&](const relay::Call* call, const Array<te::Tensor>& in) -> Array<te::Tensor> {
    if (call != anchor) return {};
    auto matmul = op::nbits_matmul_of(call->attrs_as<relay::MatmulNBitsAttrs>(), in);
    return {topi::nbits_matmul(matmul, subject.environment.machine)};
  };
  subject.chosen.rules.emplace_back("matmul_nbits");
  subject.scheduled = by_blocks(subject, kernel_tensors(*subject.workload, subject.environment, compute));
}

/// The anchor's tensors by kernels of a device; none where it has none for them.
Array<te::Tensor> by_device_kernels(const relay::Call* anchor, const Array<te::Tensor>& in,
                                    const topi::GpuMachine& machine) {
  if (auto* attrs = anchor->attrs.as<relay::AllClassNonMaximumSuppressionAttrs>())
    return topi::device_all_class_nms(in[0], in[1], in[2], in[3], in[4], attrs->output_format == "onnx", machine);
  auto* attrs = anchor->attrs.as<relay::ScanopAttrs>();
  if (!attrs) return {};
  const TensorType type = relay::tensor_type(relay::Expr(anchor));
  const int64_t* given = attrs->axis ? as_int(attrs->axis) : nullptr;
  if (attrs->axis && !given) return {};
  const te::Tensor x = given ? in[0] : topi::reshape(in[0], type->shape);
  te::Tensor out = topi::device_scan(x, given ? topi::counted_axis(static_cast<int>(*given), x) : 0,
                                     relay::op_name(anchor) == "cumprod", attrs->is_exclusive(), type->dtype, machine);
  return out ? Array<te::Tensor>{out} : Array<te::Tensor>();
}

/// What has an order, where the device has kernels for it.
std::optional<Plan> match_ordered(Subject& subject) {
  const relay::Call* anchor = subject.workload->anchor;
  if (!anchor ||
      (!anchor->attrs.as<relay::AllClassNonMaximumSuppressionAttrs>() && !anchor->attrs.as<relay::ScanopAttrs>()))
    return std::nullopt;
  bool fits = false;
  auto compute = [&](const relay::Call* call, const Array<te::Tensor>& in) -> Array<te::Tensor> {
    if (call != anchor) return {};
    Array<te::Tensor> out = by_device_kernels(call, in, subject.environment.gpu);
    fits = !out.empty();
    return out;
  };
  KernelTensors tensors = kernel_tensors(*subject.workload, subject.environment, compute);
  return fits ? std::optional<Plan>(tensors) : std::nullopt;
}

void apply_ordered(Subject& subject, const Plan& plan) {
  subject.chosen.rules.emplace_back("ordered_by_threads");
  subject.scheduled = by_blocks(subject, plan.as<KernelTensors>());
}

}  // namespace

std::vector<ScheduleRule> kernel_rules() {
  return {
      {"meta_schedule", "", RuleScope::Kernel, -2, match_tuned,
       [](Subject& subject, const Plan& plan) { subject.scheduled = plan.as<PrimFunc>(); }},
      {"auto_scheduler", "", RuleScope::Kernel, -2, match_searched,
       [](Subject& subject, const Plan& plan) {
         subject.scheduled = by_te_schedule(plan.as<te::Schedule>(), tensors_of(subject), subject.kernel);
       }},
      {"extent_versions", "llvm", RuleScope::Kernel, -1.5, match_extent_versions, apply_extent_versions},
      {"leading_axes", "llvm", RuleScope::Kernel, -1, match_leading_axes, apply_leading_axes},
      group("attention", attention_rule, &type_of<topi::AttentionPlanNode>),
      group("rows", rows_rule, &type_of<topi::RowsKnobsNode>),
      group("resample", resample_rule),
      {"recurrent", "llvm", RuleScope::Kernel, 0, match_recurrent, apply_recurrent},
      {"recurrent_in_a_thread", "gpu", RuleScope::Kernel, 0, match_recurrent, apply_recurrent},
      {"ordered_by_threads", "gpu", RuleScope::Kernel, 0, match_ordered, apply_ordered},
      {"matmul_nbits", "llvm", RuleScope::Kernel, 0, match_matmul_nbits, apply_matmul_nbits},
      {"te_schedule", "", RuleScope::Kernel, 1, match_te_schedule, apply_te_schedule},
      {"blocks", "", RuleScope::Kernel, 2, [](Subject&) { return std::optional<Plan>(true); },
       [](Subject& subject, const Plan&) { subject.scheduled = by_blocks(subject, tensors_of(subject)); }},
  };
}

}  // namespace tessera::kernel
