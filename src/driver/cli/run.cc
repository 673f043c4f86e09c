// tessera run: a package, or a model file that is compiled first.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "driver/cli/cli.h"
#include "driver/cli/model_flags.h"
#include "driver/cli/progress_bar.h"
#include "driver/cli/results.h"
#include "driver/cli/runner.h"
#include "driver/cli/terminal.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/package/model_names.h"
#include "runtime/package/package.h"

namespace tessera::cli {
namespace {

struct Run {
  ModelFlags model;
  CompileFlags flags;
  std::string device = "cpu", fill = "random", inputs, outputs, rpc_key, rpc_tracker;
  std::vector<std::string> project_options;
  bool print_time = false, profile = false, end_to_end = false, list_options = false, json = false;
  int64_t print_top = 0, repeat = 0, number = 0;
  int threads = 0;
  uint64_t seed = 0;

  void run() const {
    require_all_options();
    if (threads) set_num_threads(threads);
    std::string notes, shown;
    {
      ProgressBar progress;
      Runner runner = is_remote() ? there() : Runner(load(), device_of(device));
      NamedTensors given = read_inputs(runner.inputs());
      runner.set_inputs(make_inputs(runner.inputs(), given, fill_of(fill), model.shapes(), seed));
      notes = dynamic_extents(runner, given);
      begin_stage("run");
      runner.run();
      const NamedTensors results = runner.outputs();
      save(results);
      shown = json ? json_of(runner, results) : results_of(runner, results);
    }
    fmt::print(stderr, "{}", notes);
    fmt::print("{}", shown);
  }

  void require_all_options() const {
    if (device == "micro" || list_options || !project_options.empty())
      throw Error(NotImplementedError)
          << "running on microcontrollers (--device micro) is not there yet; use --device cpu";
    if (rpc_tracker.empty() && !rpc_key.empty())
      throw Error(ValueError) << "--rpc-key asks a tracker for a device: name it with --rpc-tracker host:port";
    if (is_remote() && (profile || threads))
      throw Error(ValueError) << "--profile and --threads are for this machine, --rpc-tracker for another";
    if (profile && end_to_end)
      throw Error(ValueError) << "--profile and --end-to-end cannot be given together: a profile has no copies in it";
  }

  bool is_remote() const { return !rpc_tracker.empty(); }

  /// The package, or that of the model compiled first, on the machine that a server runs on.
  Runner there() const {
    const auto [host, port] = tracker_address(rpc_tracker);
    if (Package::is_package(model.path) && Package(model.path).kind != Package::Model)
      return remote_runner(model.path, device, host, port, rpc_key);
    TemporaryFolder folder;
    const std::string package = folder.file("model.tar");
    export_package(compiled(), package);
    return remote_runner(package, device, host, port, rpc_key);
  }

  /// A package as it is; a model compiled, for the device where no target is named.
  Module load() const {
    if (Package::is_package(model.path))
      if (Package package(model.path); package.kind != Package::Model) return load_package(package);
    return compiled().runnable;
  }

  CompiledModel compiled() const {
    CompileFlags chosen = flags;
    if (!flags.target.is_given() && device != "cpu") chosen.target.text = device == "cl" ? "opencl" : device;
    CompileOptions options = chosen.options();
    return compile_model(model.load(), options);
  }

  /// A .npy file has no name for its tensor; it is the one input's.
  NamedTensors read_inputs(const std::vector<TensorInfo>& infos) const {
    if (inputs.empty()) return {};
    NamedTensors out = load_npz(inputs);
    if (out.size() != 1 || !out[0].first.empty()) return out;
    if (infos.size() != 1)
      throw Error(ValueError) << inputs << " holds one tensor without a name, but the model has " << infos.size()
                              << " inputs; give a .npz file with their names";
    return {{infos[0].name, out[0].second}};
  }

  /// Says which extents were made up.
  std::string dynamic_extents(const Runner& runner, const NamedTensors& given) const {
    InputShapes shapes = model.shapes();
    std::string out;
    for (const TensorInfo& info : runner.inputs()) {
      bool is_given = shapes.count(info.name) || std::any_of(given.begin(), given.end(), [&](const auto& tensor) {
                        return tensor.first == info.name;
                      });
      if (!is_given && std::count(info.shape.begin(), info.shape.end(), -1))
        out += fmt::format(
            "note: input {} is {}; dynamic extents are taken as 1 (--input-shapes or --inputs says otherwise)\n",
            info.name, text_of(info));
    }
    return out;
  }

  void save(const NamedTensors& results) const {
    if (outputs.empty()) return;
    NamedTensors named = results;
    for (size_t i = 0; is_tvmc() && i < named.size(); ++i) named[i].first = output_name(i);
    save_npz(outputs.ends_with(".npz") ? outputs : outputs + ".npz", named);  // as numpy.savez names it
  }

  std::string results_of(Runner& runner, const NamedTensors& results) const {
    std::string out;
    if (print_top > 0) {
      if (results.empty()) throw Error(ValueError) << "--print-top: the model has no outputs";
      out += top_values(results[0].second, print_top);
    }
    begin_stage("measure");
    if (profile) out += profile_table(*profiled(runner).get(), terminal_width()) + "\n";
    if (print_time) out += time_table(times(runner));
    bool is_plain = outputs.empty() && print_top == 0 && !profile && !print_time;
    return is_plain ? output_table(results) : out;
  }

  /// The same for programs.
  std::string json_of(Runner& runner, const NamedTensors& results) const {
    Array<ObjectRef> summaries;
    for (const auto& [name, tensor] : results) summaries.push_back(summary_of(name, tensor));
    JsonObject out{{"model", String(model.path)},
                   {"executor", String(runner.kind())},
                   {"device", String(device)},
                   {"threads", json_value(num_threads())},
                   {"memory_bytes", json_value(runner.memory())},
                   {"outputs", summaries}};
    if (print_top > 0 && !results.empty()) out.set("top", top_of(results[0].second, print_top));
    begin_stage("measure");
    if (profile) out.set("profile", parse_json(profiled(runner)->json()));
    if (print_time) out.set("times", times_of(times(runner)));
    return to_json(out) + "\n";
  }

  /// As many runs as --repeat and --number say.
  profiling::Report profiled(Runner& runner) const {
    return runner.profile(repeat || number ? std::max<int64_t>(repeat, 1) * std::max<int64_t>(number, 1) : 0);
  }
  std::vector<double> times(Runner& runner) const {
    return runner.measure(std::max<int64_t>(number, 1), std::max<int64_t>(repeat, 1), end_to_end);
  }
};

}  // namespace

void add_run(CLI::App& app) {
  auto command = std::make_shared<Run>();
  CLI::App* sub = app.add_subcommand("run", "Run a package, or a model file, which is compiled first");
  sub->add_option("PATH", command->model.path, "A package of `tessera compile`, or a model: .onnx, .relay")->required();
  command->model.add_to(*sub, "");
  sub->add_option("--device", command->device, "Where it runs")
      ->check(CLI::IsMember({"cpu", "cuda", "cl", "metal", "vulkan", "rocm", "micro"}))
      ->capture_default_str();
  sub->add_option("--fill-mode", command->fill, "What inputs hold that are not given")
      ->check(CLI::IsMember({"zeros", "ones", "random"}))
      ->capture_default_str();
  sub->add_option("--seed", command->seed, "Of random inputs")->capture_default_str();
  sub->add_option("-i,--inputs", command->inputs, "A .npz file with inputs by name");
  sub->add_option("-o,--outputs", command->outputs, "A .npz file to write, with outputs by name");
  sub->add_flag("--print-time", command->print_time, "Print what a run takes: mean, median, max, min, std");
  sub->add_option("--print-top", command->print_top,
                  "Print indices and values of the N largest numbers of the first output");
  sub->add_flag("--profile", command->profile,
                "Print what each kernel takes, the mean of some runs (or of REPEAT times NUMBER)");
  sub->add_flag("--end-to-end", command->end_to_end, "Times include copies between the host and the device");
  sub->add_option("--repeat", command->repeat, "How many times are measured")
      ->check(CLI::PositiveNumber)
      ->default_str("1");
  sub->add_option("--number", command->number, "How many runs each of them is the mean of")
      ->check(CLI::PositiveNumber)
      ->default_str("1");
  sub->add_option("--threads", command->threads, "How many threads run it; all cores when not given")
      ->check(CLI::Range(1, 4096));
  sub->add_flag("--json", command->json, "Print one JSON object: outputs, and what else is asked for");
  sub->add_option("--rpc-tracker", command->rpc_tracker,
                  "Runs on another machine: the address host[:port] of a tracker, or without --rpc-key of a server");
  sub->add_option("--rpc-key", command->rpc_key, "Under which the tracker lists servers");
  sub->add_option("--project-option", command->project_options)->group("");
  sub->add_flag("--list-options", command->list_options)->group("");
  command->flags.add_to(*sub);
  add_verbose(*sub);
  sub->callback([command] { command->run(); });
}

}  // namespace tessera::cli
