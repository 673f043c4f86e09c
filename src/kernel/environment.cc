#include "kernel/environment.h"

#include "base/run_tasks.h"
#include "codegen/kernel_cache.h"
#include "ir/json/json.h"
#include "ir/pass/names.h"
#include "kernel/records.h"
#include "kernel/rules/searched.h"
#include "runtime/extension.h"

namespace tessera::kernel {
namespace {

/// Where it holds, matrix units may multiply float32 by its 19 upper bits, with float32 sums.
constexpr const char* kAllowTf32 = "cuda.allow_tf32";

bool has_machine(const Target& target) { return target && target->kind->name == "llvm"; }

/// Options and passes of graphs have done their work before there are kernels.
bool is_option_of_kernels(const String& name) {
  const bool is_of_records = name.str() == kRecords || name.str() == kShippedRecords;  // keys of kernels have their own
  return !name.str().starts_with("relay.") && !is_of_records;
}
/// Where it holds, kernels of libraries and our own are run once on the device, if there is one, and the faster ones stay.
constexpr const char* kMeasureKernels = "cuda.measure_kernels";
ConfigKeys environment_keys{config_flag(kAllowTf32), config_flag(kMeasureKernels)};

topi::GpuMachine gpu_of(const Target& target, const PassContext& passes) {
  topi::GpuMachine machine = topi::gpu_machine_of(target);
  return passes.flag(kAllowTf32) ? with(machine.get(), &topi::GpuMachineNode::allows_tf32, true) : machine;
}

bool is_pass_of_kernels(const String& name) { return has_pass("tir.transform.", name.str()); }

}  // namespace

CompileEnvironment CompileEnvironment::make(const Target& target, const Target& host, const PassContext& passes) {
  return {target, host, has_machine(target) ? topi::machine_of(target) : nullptr,
          target && target.has_key("gpu") ? gpu_of(target, passes) : nullptr, passes};
}

CompileEnvironment CompileEnvironment::on(const Target& other) const {
  if (other.same_as(target)) return *this;
  CompileEnvironment out = make(other, host, passes);
  out.tuned = tuned;
  out.seconds = seconds;
  return out;
}

bool CompileEnvironment::measures() const { return passes.flag(kMeasureKernels); }

bool CompileEnvironment::calls_users() const {
  return tuned || is_extended() || !passes->instruments.empty() || passes->config.count("tir.add_lower_pass") ||
         passes.flag(kUseAutoScheduler);  // records are looked up in Python
}

size_t CompileEnvironment::threads() const { return calls_users() ? 1 : compile_threads(); }

std::optional<std::string> CompileEnvironment::key() const {
  if (calls_users() || seconds || passes->opt_level < 0 || codegen::compiler_build_id().empty()) return std::nullopt;
  Map<String, ObjectRef> options;
  for (const auto& [name, value] : passes->config)
    if (is_option_of_kernels(name)) options.set(name, value);
  std::string switched;
  for (const String& name : passes->disabled_pass)
    if (is_pass_of_kernels(name)) switched += "-" + name.str() + "\n";
  for (const String& name : passes->required_pass)
    if (is_pass_of_kernels(name)) switched += "+" + name.str() + "\n";
  try {
    return codegen::compiler_build_id() + "\n" + target.str() + "\n" + host.str() + "\n" + save_json(machine) + "\n" +
           save_json(gpu) + "\n" + save_json(options) + "\n" + switched;
  } catch (const Error&) {
    return std::nullopt;  // an option that has no text
  }
}

}  // namespace tessera::kernel
