#include "driver/vm/compile.h"

#include "base/progress.h"
#include "driver/executor/kernel_library.h"
#include "driver/relay_build.h"
#include "driver/vm/dynamic_extents.h"
#include "driver/vm/program_builder.h"
#include "ir/pass/pass_scope.h"
#include "ir/rewrite.h"
#include "relay/transform/passes.h"
#include "relay/type/infer_type.h"
#include "relay/walk.h"
#include "runtime/registry.h"
#include "tir/lower.h"

namespace tessera::relay {
namespace {

/// Without functions that "main" does not reach; all of them where there is no "main".
IRModule only_reachable(const IRModule& mod) {
  if (!mod.find_global_var("main")) return mod;
  return pass(remove_unused_functions, Array<String>{"main"})(mod);
}

}  // namespace

IRModule optimize_for_vm(const IRModule& mod, const CompilationConfig& config) {
  PassScope scope;
  IRModule fused = optimization_passes(config)(only_reachable(mod));
  return infer_type(to_basic_block_normal_form_pass()(fused));
}

Module compile_vm(const IRModule& fused, const CompilationConfig& config) {
  PassScope scope;
  begin_stage("schedule kernels");
  ProgramBuilder builder(name_dynamic_extents(fused), config, PassContext::current());
  vm::Program program = builder.build();
  kernel::KernelSet kernels = builder.kernels();
  IRModule on_host = lower_module(builder.host_kernels(), false, kernels.environment.passes);
  Module library;
  if (!kernels.entries.empty() || !kernels.external.empty() || !on_host->functions.empty())
    library = build_kernels(kernels, config->host_target, on_host);
  return vm::make_executable(std::move(program), library);
}

bool needs_vm(const IRModule& mod) {
  bool found = false;
  IRModule typed = infer_type(only_reachable(mod));
  for (const auto& [var, function] : typed.sorted_functions()) {
    if (!function.as<FunctionNode>()) continue;
    post_order(function, [&](const Expr& expr) {
      found = found || expr.as<If>() || expr.as<Match>() || expr.as<RefCreate>() || expr.as<ConstructorNode>();
      if (!found && expr->checked_type_) walk(expr->checked_type_, [&](const AnyDim*) { found = true; });
    });
  }
  return found;
}

static Globals compile_globals{
    {"relay.vm.is_needed", needs_vm},
    {"relay.vm.optimize",
     [](IRModule mod, Array<Target> targets) { return optimize_for_vm(mod, make_compilation_config(targets, {})); }},
    {"relay.vm.compile",
     [](IRModule fused, Array<Target> targets) { return compile_vm(fused, make_compilation_config(targets, {})); }},
};

}  // namespace tessera::relay
