#include "driver/build_module.h"

#include "base/run_tasks.h"
#include "runtime/registry.h"
#include "tir/attrs.h"
#include "tir/function.h"
#include "tir/lower.h"

namespace tessera {
namespace {

/// The code generator of a target's kind; an error that names those there are.
PackedFunc code_generator(const Target& target) {
  const std::string prefix = "target.build.";
  if (PackedFunc generate = find_global(prefix + target->kind->name.str())) return generate;
  std::string have;
  for (const std::string& name : global_names())
    if (name.rfind(prefix, 0) == 0) have += (have.empty() ? "" : ", ") + name.substr(prefix.size());
  throw Error(ValueError) << "no code generator for target kind " << target->kind->name
                          << " is built in; there are: " << (have.empty() ? "none" : have);
}

bool is_cpu(const Target& target) { return target->kind->default_device_type == kDLCPU; }

}  // namespace

Module generate_code(const IRModule& functions, const Target& target) {
  return code_generator(target)(functions, target).to<Module>();
}

IRModule lower_prim_func(const BaseFunc& function, const String& name, bool simple_mode) {
  PrimFunc program = downcast_or_null<PrimFunc>(function);
  if (!program) throw Error(TypeError) << "lower: expected a tir.PrimFunc, got " << function->type_key();
  program = with_attr(program, attr::kGlobalSymbol, name);
  if (PassContext::current().flag("tir.noalias", true)) program = with_attr(program, attr::kNoAlias, bool_imm(true));
  IRModule mod;
  GlobalVarNode var;
  var.name_hint = name;
  mod.update(make(std::move(var)), program);
  return lower_module(mod, simple_mode);
}

IRModule by_function(const IRModule& mod, size_t threads, const std::function<IRModule(const IRModule&)>& change) {
  std::vector<std::pair<GlobalVar, BaseFunc>> functions;
  for (const auto& [var, function] : mod->functions) functions.emplace_back(var, function);
  if (threads < 2 || functions.size() < 2) return change(mod);
  std::vector<IRModule> parts(functions.size());
  run_tasks(functions.size(), threads, [&](size_t i) {
    parts[i] = change(IRModule(Map<GlobalVar, BaseFunc>{{functions[i].first, functions[i].second}}));
  });
  IRModule out;
  for (const IRModule& part : parts) out.update(part);
  return out;
}

SplitModule split_module(const IRModule& lowered, const Target& target, const Target& host, const PassContext& context,
                         size_t threads) {
  const std::vector<Pass> mixing = mixed_passes(lowered, target, context), on_host = host_passes(host, context);
  if (is_cpu(target) && threads > 1)
    return {by_function(
                lowered, threads,
                [&](const IRModule& one) { return run_passes(on_host, run_passes(mixing, one, context), context); }),
            IRModule()};
  IRModule mixed = run_passes(mixing, lowered, context);
  return {run_passes(on_host, mixed, context), run_passes(device_passes(target, context), mixed, context)};
}

Target host_of(const Target& target, const Target& host) {
  if (host) return host;
  if (target.host()) return target.host();
  return is_cpu(target) ? target.without_host() : Target::parse("llvm");
}

Module build(const Map<Target, IRModule>& lowered, Target host, const PassContext& context, size_t threads) {
  if (lowered.empty()) throw Error(ValueError) << "build: there are no functions to build";
  for (const auto& [target, mod] : lowered)
    if (!host && is_cpu(target)) host = target.host() ? target.host() : target.without_host();
  if (!host) host = host_of((*lowered.begin()).first, {});

  IRModule host_functions;
  std::vector<Module> device_modules;
  for (const auto& [target, mod] : lowered) {
    if (mod->functions.empty()) continue;
    SplitModule split = split_module(mod, target, host, context, threads);
    for (const auto& [var, function] : split.host->functions) {
      if (host_functions.find_global_var(var->name_hint))
        throw Error(ValueError) << "build: function " << var->name_hint << " is given more than once";
      host_functions.update(var, function);
    }
    if (!split.device->functions.empty()) device_modules.push_back(generate_code(split.device, target));
  }
  Module out = generate_code(host_functions, host);
  for (const Module& module : device_modules) out.import_module(module);
  return out;
}

static Globals build_module_globals{
    {"driver.lower_module", [](IRModule mod, bool simple_mode) { return lower_module(mod, simple_mode); }},
    {"driver.lower_primfunc", lower_prim_func},
    {"driver.tir_to_runtime", [](Map<Target, IRModule> lowered, Target host) { return build(lowered, host); }},
    {"driver.mixed_mod_passes",
     [](IRModule mod, Target target) { return sequential(mixed_passes(mod, target, PassContext::current())); }},
    {"driver.host_mod_passes",
     [](IRModule, Target host) { return sequential(host_passes(host, PassContext::current())); }},
    {"driver.device_mod_passes",
     [](IRModule, Target target) { return sequential(device_passes(target, PassContext::current())); }},
};

}  // namespace tessera
