// The fused functions of a model as tasks for a search.

#include "driver/relay_build.h"
#include "ir/structural/equal.h"
#include "kernel/external.h"
#include "kernel/tuning_module.h"
#include "relay/walk.h"
#include "runtime/registry.h"

namespace tessera::relay {
namespace {

struct Task {
  Function primitive;
  int64_t hash = 0;
  int weight = 0;
};

/// The primitive functions that "main" calls, each once, with how often.
std::vector<Task> primitives_of(const Function& main) {
  std::vector<Task> out;
  post_order(main->body, [&](const Expr& expr) {
    auto* call = expr.as<Call>();
    auto* function = call ? call->op.as<FunctionNode>() : nullptr;
    if (!function || !function->attrs.is_true(attr::kPrimitive)) return;
    Function primitive(function);
    if (!kernel::external_compiler(primitive).empty()) return;
    int64_t hash = structural_hash(primitive);
    for (Task& known : out)
      if (known.hash == hash && structural_equal(known.primitive, primitive)) {
        ++known.weight;
        return;
      }
    out.push_back({primitive, hash, 1});
  });
  return out;
}

/// [[name, the function as a module, target, [its program], weight], ...], last operators first. Functions that no search is
/// possible on are left out.
Array<ObjectRef> extract_tasks(IRModule mod, Target target, Map<String, NDArray> params) {
  CompilationConfig config = make_compilation_config({target}, {});
  IRModule bound = mod.copy();
  Function main = downcast_or_null<Function>(bound.lookup("main"));
  if (!main) throw Error(TypeError) << "\"main\" is not a Relay function";
  bound.update(bound.get_global_var("main"), bind_params_by_name(main, params));
  Function optimized = downcast<Function>(optimize(bound, config).lookup("main"));
  auto environment = kernel::CompileEnvironment::make(target, config->host_target, PassContext::current());
  Array<ObjectRef> out;
  for (const Task& task : primitives_of(optimized)) {
    IRModule program = kernel::tuning_module(kernel::workload_of(task.primitive, target), environment);
    if (!program.defined()) continue;
    IRModule relay_mod;
    GlobalVarNode var;
    var.name_hint = "main";
    relay_mod.update(make(std::move(var)), task.primitive);
    String name(kernel::kernel_name(task.primitive));
    out.insert(0, Array<ObjectRef>{name, relay_mod, target, Array<ObjectRef>{program}, PrimExpr(task.weight)});
  }
  return out;
}

Globals extract_tasks_globals{{"meta_schedule.ExtractTasks", extract_tasks}};

}  // namespace
}  // namespace tessera::relay
