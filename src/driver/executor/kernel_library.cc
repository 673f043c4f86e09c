#include "driver/executor/kernel_library.h"

#include "base/progress.h"
#include "codegen/unit_module.h"
#include "driver/build_module.h"
#include "ir/structural/equal.h"
#include "tir/lower.h"

namespace tessera::relay {
namespace {

/// A library of one function has it as its entry, which the machine code of other libraries has not.
bool are_cached(const kernel::KernelSet& kernels, const IRModule& more) {
  return kernels.entries.size() + more->functions.size() > 1 && !kernels.entries.empty() &&
         !kernels.entries[0].key.empty();
}

/// The functions of the host for programs of its own target.
IRModule host_functions(const Map<Target, IRModule>& programs, const kernel::CompileEnvironment& environment,
                        const Target& host, const IRModule& more) {
  Map<Target, IRModule> lowered = lower_kernels(programs, environment);
  IRModule all, out;
  for (const auto& [target, mod] : lowered) all.update(mod);
  all.update(more);
  if (all->functions.empty()) return out;
  out.update(split_module(all, environment.target, host, environment.passes, environment.threads()).host);
  return out;
}

/// Kernels of the cache, and those that are new, which it gets.
Module with_cached(const kernel::KernelSet& kernels, const Target& host, const IRModule& more) {
  IRModule functions = host_functions(kernels.programs, kernels.environment, host, more);
  begin_stage("generate code");
  std::vector<std::string> cached;
  kernel::KernelSet earlier{{}, {}, kernels.environment, {}};  // kernels whose programs nobody has made this time
  for (const kernel::KernelEntry& kernel : kernels.entries) {
    if (kernel.unit.empty()) continue;
    cached.push_back(kernel.unit);
    earlier.entries.push_back(kernel);
  }
  auto source = [earlier, host] { return host_functions(earlier.all_programs(), earlier.environment, host, {}); };
  Module library = codegen::build_with_units(functions, host, cached, source);
  if (kernels.programs.empty()) return library;
  std::unordered_map<std::string, std::string> units;
  for (codegen::UnitBytes& unit : codegen::units_of(library))
    if (unit.functions.size() == 1) units.emplace(unit.functions[0], std::move(unit.bytes));
  for (const kernel::KernelEntry& kernel : kernels.entries) {
    auto unit = units.find(kernel.name);
    if (!kernel.unit.empty() || kernel.key.empty() || unit == units.end()) continue;
    PrimFunc program = downcast<PrimFunc>(kernels.programs[kernel.target].lookup(kernel.name));
    kernel::CachedKernels::add(kernel.key, kernel.overlaps,
                               {kernel.rule, kernel::find_in_place(program), unit->second});
  }
  return library;
}

}  // namespace

Map<Target, IRModule> lower_kernels(const Map<Target, IRModule>& programs,
                                    const kernel::CompileEnvironment& environment) {
  const std::vector<Pass> passes = lowering_passes(false, environment.passes);
  Map<Target, IRModule> out;
  for (const auto& [target, mod] : programs)
    out.set(target, by_function(mod, environment.threads(),
                                [&](const IRModule& one) { return run_passes(passes, one, environment.passes); }));
  return out;
}

namespace {

Module build_own(const kernel::KernelSet& kernels, const Target& host, const IRModule& more) {
  if (are_cached(kernels, more)) return with_cached(kernels, host, more);
  Map<Target, IRModule> parts = lower_kernels(kernels.all_programs(), kernels.environment);
  if (!more->functions.empty()) {
    Target key = host;
    for (const auto& [target, mod] : parts)
      if (structural_equal(target, host)) key = target;
    if (parts.count(key)) parts[key].update(more);
    else parts.set(key, more);
  }
  begin_stage("generate code");
  if (parts.empty())  // a graph that only renames its inputs
    return generate_code(IRModule(), host);
  return tessera::build(parts, host, kernels.environment.passes, kernels.environment.threads());
}

}  // namespace

Module build_kernels(const kernel::KernelSet& kernels, const Target& host, const IRModule& more) {
  return kernel::with_external(build_own(kernels, host, more), kernels.external);
}

}  // namespace tessera::relay
