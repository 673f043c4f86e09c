#include "driver/vm/compile.h"

#include "base/progress.h"
#include "driver/build_module.h"
#include "driver/relay_build.h"
#include "driver/vm/open_extents.h"
#include "driver/vm/program_builder.h"
#include "ir/rewrite.h"
#include "ir/structural_equal.h"
#include "relay/infer_type.h"
#include "relay/walk.h"
#include "runtime/registry.h"
#include "tir/lower.h"

namespace tessera::relay {
namespace {

/// Without functions that "main" does not reach; all of them where there is no "main".
IRModule only_reachable(const IRModule& mod) {
  if (!mod.find_global_var("main")) return mod;
  return get_global("relay._transform.RemoveUnusedFunctions")(Array<String>{"main"}).to<Pass>()(mod);
}

}  // namespace

IRModule optimize_for_vm(const IRModule& mod, const Target& target) {
  IRModule fused = optimization_passes(target)(only_reachable(mod));
  return infer_type(get_global("relay._transform.ToBasicBlockNormalForm")().to<Pass>()(fused));
}

Module compile_vm(const IRModule& fused, const Target& target, const std::string& model_name) {
  begin_stage("schedule kernels");
  ProgramBuilder builder(name_open_extents(fused), target, model_name);
  vm::Program program = builder.build();
  Target host = host_of(target, {});
  IRModule kernels = lower_module(builder.kernels(), false), on_host = lower_module(builder.host_kernels(), false);
  if (structural_equal(target, host)) kernels.update(on_host);
  Map<Target, IRModule> parts{{target, kernels}};
  if (!structural_equal(target, host)) parts.set(host, on_host);
  Module library;
  begin_stage("generate code");
  if (!kernels->functions.empty() || !on_host->functions.empty()) library = tessera::build(parts, host);
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

static Globals globals{
    {"relay.vm.is_needed", needs_vm},
    {"relay.vm.optimize", optimize_for_vm},
    {"relay.vm.compile", compile_vm},
};

}  // namespace tessera::relay
