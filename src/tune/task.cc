#include "tune/task.h"

#include <algorithm>
#include <unordered_map>

#include "base/run_tasks.h"
#include "ir/prim/ops.h"
#include "ir/structural/equal.h"
#include "relay/walk.h"

namespace tessera::tune {
namespace {

using kernel::CompileEnvironment;

/// The tensors that a kernel is called with; empty where their extents are known only at run time.
std::vector<TensorSpec> specs_of(const PrimFunc& program) {
  std::vector<TensorSpec> out;
  for (const Var& param : program->params) {
    Buffer buffer = program->buffer_map.get_or_null(param);
    if (!buffer) return {};
    TensorSpec spec{{}, buffer->dtype};
    for (const PrimExpr& extent : buffer->shape) {
      if (!as_int(extent)) return {};
      spec.shape.push_back(*as_int(extent));
    }
    out.push_back(std::move(spec));
  }
  return out;
}

void look_into(Task& task, const CompileEnvironment& environment) {
  const CompileEnvironment own = environment.on(task.kernel.target);
  if (!own.machine) {
    task.why_not = "its target is no CPU";
    return;
  }
  task.workload = kernel::workload_key(task.kernel.primitive, own.machine);
  task.computation = kernel::computation_key(task.kernel.primitive);
  try {
    const PrimFunc program = kernel::program_of(task.kernel, environment, {{}, &task.decisions});
    task.args = specs_of(program);
  } catch (const Error& error) {
    task.why_not = error.message();
    return;
  }
  for (const relay::Var& param : task.kernel.primitive->params)
    task.inputs += kernel::tensors_of(relay::checked_type(param)).size();
  if (task.decisions.empty()) task.why_not = "its rule has no knobs";
  else if (task.args.empty()) task.why_not = "its extents are known only at run time";
}

}  // namespace

std::vector<Task> extract_tasks(const IRModule& fused, const CompileEnvironment& environment) {
  std::vector<Task> out;
  NameSupply names;
  std::unordered_multimap<int64_t, size_t> by_hash;
  auto add = [&](const relay::Function& primitive) {
    const int64_t hash = structural_hash(primitive);
    auto [first, last] = by_hash.equal_range(hash);
    for (auto it = first; it != last; ++it)
      if (structural_equal(out[it->second].kernel.primitive, primitive)) {
        ++out[it->second].calls;
        return;
      }
    by_hash.emplace(hash, out.size());
    Task task;
    task.kernel = {primitive, environment.target, names.fresh(kernel::kernel_name(primitive))};
    task.calls = 1;
    out.push_back(std::move(task));
  };
  for (const auto& [_, function] : fused->functions) {
    if (!function.as<relay::FunctionNode>()) continue;
    relay::post_order(downcast<relay::Function>(function)->body, [&](const relay::Expr& expr) {
      auto* call = expr.as<relay::Call>();
      auto* callee = call ? call->op.as<relay::FunctionNode>() : nullptr;
      if (!callee || !callee->attrs.is_true(relay::attr::kPrimitive)) return;
      auto primitive = downcast<relay::Function>(call->op);
      if (kernel::external_compiler(primitive).empty()) add(primitive);
    });
  }
  run_tasks(out.size(), environment.threads(), [&](size_t i) { look_into(out[i], environment); });
  return out;
}

Task task_of(const kernel::KernelEntry& kernel, const CompileEnvironment& environment) {
  Task out;
  out.kernel = kernel;
  out.calls = 1;
  look_into(out, environment);
  return out;
}

IRModule module_of(const PrimFunc& program, const std::string& name) {
  IRModule out;
  GlobalVarNode var;
  var.name_hint = String(name);
  out.update(make(std::move(var)), program);
  return out;
}

kernel::RecordedPlans plans_of(const std::vector<kernel::Decision>& decisions) {
  kernel::RecordedPlans out;
  for (const kernel::Decision& decision : decisions) {
    const auto& [rule, knobs] = decision.plans.front();
    out.push_back(Array<ObjectRef>{String(rule->name), kernel::knob_values(knobs)});
  }
  return out;
}

}  // namespace tessera::tune
