#include "driver/cli/model_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "kernel/record_lines.h"

namespace tessera::cli {
namespace {

std::vector<std::string> format_names() {
  std::vector<std::string> out;
  for (const ModelFormat& format : model_formats()) out.push_back(format.name);
  return out;
}

/// The options of an executor or runtime, as "aot-unpacked-api".
void add_kind_flags(CLI::App& command, const char* what, const std::vector<const char*>& names,
                    std::vector<std::pair<std::string, std::string>>* out) {
  for (const char* name : names) {
    std::string key = name;
    auto keep = [out, key](const std::string& value) { out->emplace_back(key, value); };
    command.add_option_function<std::string>(std::string("--") + what + "-" + name, keep)
        ->group("Executor and runtime");
  }
}

void check_kind_flags(const char* what, const std::string& kind,
                      const std::vector<std::pair<std::string, std::string>>& options) {
  for (const auto& [name, _] : options)
    if (!name.starts_with(kind + "-"))
      throw Error(ValueError) << "--" << what << "-" << name << " is given, but the " << what << " is " << kind;
}

bool is_true(const std::vector<std::pair<std::string, std::string>>& options, const char* name) {
  for (const auto& [key, value] : options)
    if (key == name) return value == "1" || value == "true" || value == "True";
  return false;
}

}  // namespace

void ModelFlags::add_to(CLI::App& command, const std::string& path_name) {
  if (!path_name.empty())
    command.add_option(path_name, path, "The model, in any format that is read, or a tar of TVMCModel.save")
        ->required();
  command.add_option("--model-format", format, "The format of the file; by its name when not given")
      ->check(CLI::IsMember(format_names()));
  command.add_option("--input-shapes", input_shapes,
                     "Shapes of inputs: \"name:[1,3,224,224] name2:[1,-1]\"; -1 leaves an extent dynamic");
  command.add_option("--allow-links", allow_links,
                     "A folder that symbolic links to a model's data may lead into, such as a Hugging Face cache");
}

InputShapes ModelFlags::shapes() const {
  if (input_shapes.empty()) return {};
  try {
    return parse_input_shapes(input_shapes);
  } catch (const Error& error) {
    throw CLI::ValidationError(error.message());
  }
}

void CompileFlags::add_to(CLI::App& command) {
  target.add_to(command);
  command.add_option("-O,--opt-level", opt_level, "Which graph passes run")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  command.add_option("--desired-layout", desired_layout, "Layout of convolutions")
      ->check(CLI::IsMember({"NCHW", "NHWC"}));
  std::vector<std::string> names = precisions();
  if (takes_int8) names.emplace_back("int8");
  command
      .add_option("--precision", precision,
                  "What layers of fp32 compute with; weights are narrow in memory, inputs and outputs stay as they are")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command.add_option("--pass-config", pass_config, "name=value: an option of PassContext; may be given more than once")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--disabled-pass", disabled_pass, "Passes that do not run, with commas between");
  command.add_option("--tuning-records", tuning_records, "A file that `tessera tune` wrote");
  command.add_option("--module-name", module_name, "The name of the compiled model")->capture_default_str();
  command
      .add_option("--executor", executor,
                  "What runs it: graph, aot or vm; when not given, graph for static models and vm for others")
      ->check(CLI::IsMember({"graph", "aot", "vm"}))
      ->group("Executor and runtime");
  command.add_option("--runtime", runtime, "What it is linked against: cpp or crt")
      ->check(CLI::IsMember({"cpp", "crt"}))
      ->capture_default_str()
      ->group("Executor and runtime");
  add_kind_flags(command, "executor",
                 {"graph-link-params", "aot-link-params", "aot-unpacked-api", "aot-interface-api",
                  "aot-workspace-byte-alignment", "aot-constant-byte-alignment"},
                 &executor_options);
  add_kind_flags(command, "runtime", {"cpp-system-lib", "crt-system-lib"}, &runtime_options);
  for (const char* name : {"workspace-pools", "workspace-pools-targets", "workspace-pools-size-hint-bytes",
                           "workspace-pools-clock-frequency-hz", "workspace-pools-read-bandwidth-bytes-per-cycle",
                           "workspace-pools-write-bandwidth-bytes-per-cycle", "workspace-pools-read-latency-cycles",
                           "workspace-pools-write-latency-cycles", "workspace-pools-target-burst-bytes"})
    command
        .add_option_function<std::vector<std::string>>(
            std::string("--") + name,
            [this, key = std::string(name)](const std::vector<std::string>&) { pool_flags.push_back(key); })
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group("");
}

CompileOptions CompileFlags::options() const {
  CompileOptions out = options_but_target();
  out.target = target.target();
  return out;
}

CompileOptions CompileFlags::options_but_target() const {
  auto missing = [](const std::string& what, const std::string& instead) {
    throw Error(NotImplementedError) << what << " is not there yet; " << instead;
  };
  if (executor == "aot") missing("--executor aot (ahead-of-time compilation)", "--executor graph runs the same models");
  if (runtime == "crt") missing("--runtime crt (the runtime for microcontrollers)", "use --runtime cpp");
  check_kind_flags("executor", executor.empty() ? "graph" : executor, executor_options);
  check_kind_flags("runtime", runtime, runtime_options);
  if (is_true(runtime_options, "cpp-system-lib"))
    missing("--runtime-cpp-system-lib", "leave it out: a package holds a library that is loaded");
  if (!pool_flags.empty()) missing("--" + pool_flags[0], "memory pools serve ahead-of-time compilation; leave it out");
  CompileOptions out;
  out.opt_level = opt_level;
  out.executor = executor;
  out.link_params = is_true(executor_options, "graph-link-params");
  out.disabled_pass = parse_pass_list(disabled_pass);
  out.pass_config = parse_pass_configs({pass_config.begin(), pass_config.end()});
  if (!tuning_records.empty()) out.pass_config.set(kernel::kRecords, kernel::plans_of_file(tuning_records));
  out.desired_layout = desired_layout;
  out.precision = precision == "int8" ? "fp32" : precision;
  out.module_name = module_name;
  return out;
}

}  // namespace tessera::cli
