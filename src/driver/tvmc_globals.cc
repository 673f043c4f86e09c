// What `tessera.driver.tvmc` and `tessera.compile` call.

#include <chrono>

#include "codegen/target_cpu.h"
#include "driver/cli/runner.h"
#include "driver/cli/target_flags.h"
#include "driver/compile_model.h"
#include "runtime/cpu/features.h"
#include "runtime/registry.h"

namespace tessera {
namespace {

/// One option by name; what is not given keeps its default.
template <class T>
void take(const Map<String, ObjectRef>& options, const char* name, T* out) {
  if (options.count(name)) *out = Any::of_object(options[name].get()).to<T>();
}

Map<String, ObjectRef> compile(const IRModule& mod, const Map<String, NDArray>& params,
                               const Map<String, ObjectRef>& given) {
  CompileOptions options;
  take(given, "target", &options.target);
  take(given, "opt_level", &options.opt_level);
  take(given, "executor", &options.executor);
  take(given, "link_params", &options.link_params);
  take(given, "disabled_pass", &options.disabled_pass);
  take(given, "pass_config", &options.pass_config);
  take(given, "desired_layout", &options.desired_layout);
  take(given, "precision", &options.precision);
  take(given, "module_name", &options.module_name);
  CompiledModel built = compile_model({mod, params, ""}, options);
  return {{"executor", String(built.executor)},
          {"graph_json", String(built.graph_json)},
          {"params", built.params},
          {"library", built.library},
          {"runnable", built.runnable},
          {"optimized", built.optimized}};
}

CompiledModel from_map(const Map<String, ObjectRef>& built) {
  CompiledModel model;
  take(built, "executor", &model.executor);
  take(built, "graph_json", &model.graph_json);
  take(built, "params", &model.params);
  take(built, "library", &model.library);
  take(built, "runnable", &model.runnable);
  return model;
}

/// Writes a package of what `compile` gave.
void write(const Map<String, ObjectRef>& built, const std::string& path, const std::string& compiler,
           const Array<String>& compiler_options) {
  export_package(from_map(built), path, {compiler, {compiler_options.begin(), compiler_options.end()}});
}

/// The same for one model that was compiled for several CPUs, by their names.
void write_portable(const Array<Map<String, ObjectRef>>& built, const Array<Target>& targets, const std::string& path) {
  std::vector<std::pair<std::string, CompiledModel>> models;
  for (size_t i = 0; i < built.size(); ++i) models.emplace_back(cli::cpu_name(targets[i]), from_map(built[i]));
  export_portable_package(models, path);
}

/// The index of the best of these targets that this CPU runs; the last where it runs none.
int64_t best_target(const Array<Target>& targets) {
  int64_t best = -1;
  size_t most = 0;
  for (size_t i = 0; i < targets.size(); ++i) {
    std::string needs = codegen::cpu_needs(targets[i]->kind->name == "llvm" ? targets[i] : targets[i].host());
    size_t count = count_cpu_features(needs);
    if (!missing_cpu_features(needs).empty() || (best >= 0 && count <= most)) continue;
    best = static_cast<int64_t>(i);
    most = count;
  }
  return best < 0 ? static_cast<int64_t>(targets.size()) - 1 : best;
}

/// Seconds of one run.
double timed(cli::Runner& runner) {
  auto start = std::chrono::steady_clock::now();
  runner.run();
  runner.outputs();  // waits for the device
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Outputs of one run, in order, and the seconds of that run; with "number" those of as many runs, "repeat" times. Inputs that
/// are not given are filled.
Map<String, ObjectRef> run(cli::Runner runner, const Map<String, NDArray>& inputs,
                           const Map<String, ObjectRef>& options) {
  std::string fill = "random";
  int64_t number = 0, repeat = 1;
  bool end_to_end = false, profile = false;
  take(options, "fill_mode", &fill);
  take(options, "number", &number);
  take(options, "repeat", &repeat);
  take(options, "end_to_end", &end_to_end);
  take(options, "profile", &profile);

  NamedTensors given;
  for (const auto& [name, tensor] : inputs) given.emplace_back(name.str(), tensor);
  runner.set_inputs(cli::make_inputs(runner.inputs(), given, cli::fill_of(fill)));
  Map<String, ObjectRef> out;
  if (profile) out.set("profile", runner.profile());
  std::vector<double> seconds{timed(runner)};
  Array<NDArray> outputs;
  for (const auto& [_, tensor] : runner.outputs()) outputs.push_back(tensor);
  out.set("outputs", outputs);
  if (number > 0) seconds = runner.measure(number, repeat, end_to_end);
  Array<ObjectRef> times;
  for (double each : seconds) times.push_back(number_boxes.box_float(each));
  out.set("seconds", times);
  return out;
}

Globals tvmc_globals{
    {"driver.run_model",
     [](Module compiled, std::string device, Map<String, NDArray> inputs, Map<String, ObjectRef> options) {
       return run({compiled, cli::device_of(device)}, inputs, options);
     }},
    {"driver.run_remote_package",
     [](std::string package, std::string device, std::string host, int port, std::string key,
        Map<String, NDArray> inputs, Map<String, ObjectRef> options) {
       return run(cli::remote_runner(package, device, host, port, key), inputs, options);
     }},
    {"driver.compile_model", compile},
    {"driver.export_package", write},
    {"driver.export_portable_package", write_portable},
    {"driver.best_target", best_target},
    {"driver.convert_layout", convert_layout},
    {"frontend.model_formats",
     [] {
       Array<ObjectRef> out;
       for (const ModelFormat& format : model_formats()) {
         Array<String> suffixes(format.suffixes.begin(), format.suffixes.end());
         out.push_back(Array<ObjectRef>{String(format.name), suffixes});
       }
       return out;
     }},
};

}  // namespace
}  // namespace tessera
