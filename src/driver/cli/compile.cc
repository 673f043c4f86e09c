// tessera compile: a model file to a package that can be run.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "driver/cli/cli.h"
#include "driver/cli/model_flags.h"
#include "driver/cli/progress_bar.h"
#include "relay/print_text.h"
#include "runtime/archive/files.h"

namespace tessera::cli {
namespace {

struct Compile {
  ModelFlags model;
  CompileFlags flags;
  std::string output = "module.tar", format = "so", dump_code, compiler, compiler_options;

  void run() const {
    if (format == "mlf")
      throw Error(NotImplementedError)
          << "--output-format mlf (Model Library Format, for microcontrollers) is not there yet; "
          << "use --output-format so";
    check_folder(output);
    CompileOptions options = flags.options_but_target();
    const std::vector<Target> targets = flags.target.targets();
    std::vector<std::pair<std::string, CompiledModel>> compiled;
    {
      ProgressBar progress;
      LoadedModel loaded = model.load();
      for (const Target& target : targets) {
        options.target = target;
        compiled.emplace_back(cpu_name(target), compile_model(loaded, options));
      }
      const LinkOptions linking{compiler, split_list(compiler_options, ' ')};
      compiled.size() == 1 ? export_package(compiled[0].second, output, linking)
                           : export_portable_package(compiled, output, linking);
      for (const auto& [cpu, each] : compiled)
        for (const std::string& kind : split_list(dump_code))
          dump(kind, output + (compiled.size() == 1 ? "" : "." + cpu) + "." + kind, loaded.mod, each, options);
    }
    std::string cpus;
    for (const auto& [cpu, _] : compiled) cpus += (cpus.empty() ? "" : ", ") + cpu;
    if (!cpus.empty()) cpus = (compiled.size() == 1 ? ", CPU " : ", CPUs ") + cpus;
    fmt::print("{}: {} for {}{}, run by the {}\n", output, bytes_text(std::filesystem::file_size(output)),
               flags.target.text, cpus, compiled[0].second.executor == "vm" ? "virtual machine" : "graph executor");
  }

  static void dump(const std::string& kind, const std::string& file, const IRModule& given,
                   const CompiledModel& compiled, const CompileOptions& options) {
    std::string text;
    if (kind == "relay") {
      text = relay::text_with_metadata(
          options.desired_layout.empty() ? given : convert_layout(given, options.desired_layout), true);
    } else if (compiled.library) {
      for (const Module& module : reachable_modules(compiled.library)) text += module->get_source(kind);
    }
    if (text.empty())
      throw Error(ValueError) << "--dump-code: the compiled model has no text of the form \"" << kind
                              << "\"; there are relay, ll and asm for CPUs, and the source of GPU kernels";
    write_whole_file(file, text);
  }
};

}  // namespace

void add_compile(CLI::App& app) {
  auto command = std::make_shared<Compile>();
  CLI::App* sub = app.add_subcommand("compile", "Compile a model to a package that `tessera run` runs");
  command->model.add_to(*sub);
  sub->add_option("-o,--output", command->output, "The package that is written")->capture_default_str();
  sub->add_option("-f,--output-format", command->format, "so: a shared library; mlf: for microcontrollers")
      ->check(CLI::IsMember({"so", "mlf"}))
      ->capture_default_str();
  command->flags.add_to(*sub);
  sub->add_option("--dump-code", command->dump_code,
                  "Also write OUTPUT.<form> for each of these, with commas between: relay, ll, asm, ...");
  sub->add_option("--cross-compiler", command->compiler,
                  "A C++ compiler that links for the target's machine; when not given, the built-in linker does it");
  sub->add_option("--cross-compiler-options", command->compiler_options,
                  "Words for that compiler, with blanks between");
  add_verbose(*sub);
  sub->callback([command] { command->run(); });
}

}  // namespace tessera::cli
