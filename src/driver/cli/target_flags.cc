#include "driver/cli/target_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "codegen/target_cpu.h"
#include "driver/cli/cli.h"
#include "ir/target/options.h"

namespace tessera::cli {
namespace {

/// External code generators that tvmc knows by these names, with the options it has flags for.
struct ExternalCodegen {
  const char* name;
  std::vector<const char*> options;
};
const std::vector<ExternalCodegen>& external_codegens() {
  static const std::vector<ExternalCodegen> codegens{
      {"compute-library", {}},
      {"cmsis-nn", {"mcpu", "mattr", "debug_last_error"}},
      {"ethos-n", {"variant", "tops", "ple_ratio"}},
      {"ethos-n78", {"variant", "tops", "ple_ratio"}},
      {"ethos-u", {"accelerator_config", "enable_cascader", "enable_striping"}},
      {"bnns", {}},
      {"vitis-ai", {"dpu", "build_dir", "work_dir", "export_runtime_module", "load_runtime_module"}},
  };
  return codegens;
}

bool is_external(const std::string& name) {
  const auto& all = external_codegens();
  return std::any_of(all.begin(), all.end(), [&](const ExternalCodegen& codegen) { return codegen.name == name; });
}

}  // namespace

bool TargetFlags::is_given() const { return flag_ && (flag_->count() > 0 || !options.empty() || !cpu.empty()); }

Target TargetFlags::target() const {
  std::vector<Target> all = targets();
  if (all.size() > 1)
    throw Error(ValueError) << "--cpu names " << all.size() << " CPUs (" << cpu
                            << "); several make a portable package, which `tessera compile` writes. Name one here";
  return all[0];
}

std::vector<Target> TargetFlags::targets() const {
  Target plain = target_from_text(text, options);
  std::vector<std::string> names = split_list(cpu);
  if (names.empty()) return {plain};
  std::vector<Target> out;
  for (const std::string& name : names) {
    out.push_back(with_cpu(plain, name));
    for (size_t i = 0; i + 1 < out.size(); ++i)
      if (cpu_name(out[i]) == cpu_name(out.back()))
        throw Error(ValueError) << "--cpu names " << cpu_name(out.back()) << " twice: " << cpu;
  }
  return out;
}

std::string cpu_name(const Target& target) {
  Target code = target->kind->name == "llvm" || !target->host.defined() ? target : target.host();
  return code->kind->name == "llvm" ? codegen::target_cpu(code).name : "";
}

void TargetFlags::add_to(CLI::App& command) {
  flag_ =
      command
          .add_option("--target", text,
                      "What code is made for: \"llvm -mcpu=skylake\", a JSON object, a JSON file, or \"target, host\" "
                      "(see `tessera targets`; each option is also a flag --target-<kind>-<option>)")
          ->capture_default_str();
  command.add_option(
      "--cpu", cpu,
      "The CPU that code is made for: x86-64-v3, znver4, cortex-a72, ...; native is that of this machine. Several, "
      "with commas between, make a portable package (`tessera compile`)");
  auto add = [&](const std::string& kind, const std::string& name) {
    command
        .add_option_function<std::string>("--target-" + kind + "-" + name,
                                          [this, kind, name](const std::string& value) {
                                            Map<String, String> known =
                                                options.count(kind) ? options[kind] : Map<String, String>();
                                            known.set(String(name), String(value));
                                            options.set(String(kind), known);
                                          })
        ->group("");
  };
  for (const TargetKind& kind : target_kinds())
    for (const auto& [name, _] : target_options(kind))
      if (!is_external(kind->name.str())) add(kind->name.str(), name);
  for (const ExternalCodegen& codegen : external_codegens())
    for (const char* name : codegen.options) add(codegen.name, name);
}

}  // namespace tessera::cli
