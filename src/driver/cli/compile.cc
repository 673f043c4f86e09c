// tessera compile: a model file to a package that can be run.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "driver/cli/accuracy.h"
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
  std::string output = "module.tar", format = "so", dump_code, compiler, compiler_options, inputs;
  bool without_report = false;

  void run() const {
    if (format == "mlf")
      throw Error(NotImplementedError)
          << "--output-format mlf (Model Library Format, for microcontrollers) is not there yet; "
          << "use --output-format so";
    check_folder(output);
    CompileOptions options = flags.options_but_target();
    const std::vector<Target> targets = flags.target.targets();
    std::vector<std::pair<std::string, CompiledModel>> compiled;
    std::string report;
    {
      ProgressBar progress;
      LoadedModel loaded = is_int8() ? int8_model() : model.load();
      for (const Target& target : targets) {
        options.target = target;
        compiled.emplace_back(cpu_name(target), compile_model(loaded, options));
      }
      if (flags.precision != "fp32" && !without_report && runs_here()) report = accuracy(compiled[0].second);
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
    if (!report.empty()) fmt::print("{}", report);
  }

  bool is_int8() const { return flags.precision == "int8"; }
  /// Code for this CPU.
  bool runs_here() const {
    return flags.target.text == "llvm" && flags.target.options.empty() &&
           (flags.target.cpu.empty() || flags.target.cpu == "native");
  }

  Runner runner_of_fp32() const {
    CompileOptions options = flags.options_but_target();
    options.target = flags.target.target();
    options.precision = "fp32";
    return {compile_model(model.load(), options).runnable, device_of("cpu")};
  }
  std::vector<NamedTensors> samples(const Runner& runner) const {
    constexpr size_t kRandomSamples = 8;
    return samples_of(inputs, runner.inputs(), model.shapes(), kRandomSamples);
  }

  /// Outputs beside those of the model in fp32.
  std::string accuracy(const CompiledModel& compiled) const {
    Runner before = runner_of_fp32(), after(compiled.runnable, device_of("cpu"));
    const std::vector<NamedTensors> given = samples(before);
    return text_of(agreements(before, after, given), given.size());
  }

  /// The model with its layers on int8, by ranges over the samples.
  LoadedModel int8_model() const {
    if (const std::string kind = model.format.empty() ? guess_model_format(model.path) : model.format; kind != "onnx")
      throw Error(ValueError) << "--precision int8 is for models of ONNX; " << model.path << " is of the format "
                              << kind;
    if (!runs_here())
      throw Error(ValueError)
          << "--precision int8 runs the model here to see its ranges, which needs --target llvm for "
          << "this CPU; for another one write a quantised model first (tessera quantize -o name.onnx)";
    if (inputs.empty())
      fmt::print(stderr,
                 "warning: the ranges of int8 are those of random inputs; --inputs samples.npz gives real ones\n");
    const onnx::Model given = onnx::read_model(model.path, model.allow_links);
    const QuantizeOptions options;
    const std::vector<onnx::QuantizableLayer> layers = chosen_layers(given, options);
    if (layers.empty())
      throw Error(ValueError) << model.path
                              << " has no layer of constant float32 weights to quantise but for the first";
    const Runner before = runner_of_fp32();
    const auto ranges = calibrate(given, model.shapes(), layers, samples(before), options, flags.options());
    auto bytes = std::make_shared<std::string>(onnx::quantize_model(given, layers, ranges).bytes);
    return load_onnx(onnx::parse_model(*bytes, bytes, {}), model.shapes(), model.path);
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
  command->flags.takes_int8 = true;
  command->flags.add_to(*sub);
  sub->add_option("-i,--inputs", command->inputs,
                  "A .npz file with samples by the names of inputs, for the ranges of int8 and the accuracy report");
  sub->add_flag("--no-accuracy-report", command->without_report,
                "With --precision: do not compare outputs with those of fp32");
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
