// tessera tune: faster plans for the kernels of a model, by measuring.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "driver/cli/bench/measure.h"
#include "driver/cli/cli.h"
#include "driver/cli/json.h"
#include "driver/cli/model_flags.h"
#include "driver/cli/progress_bar.h"
#include "driver/cli/terminal.h"
#include "driver/cli/tune/model_turns.h"
#include "driver/cli/tune/runner_flags.h"
#include "driver/cli/tune/tune_report.h"
#include "driver/tune_model.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/thread_pool.h"

namespace tessera::cli {
namespace {

struct Tune {
  ModelFlags model;
  CompileFlags flags;
  RunnerFlags runner;
  tune::TuneOptions options;
  std::string output, report, tuner = "xgb", target_host;
  double minutes = 0, compare_seconds = 2, build_timeout = TuneModelOptions{}.build_timeout;
  int threads = 0;
  int64_t trials = 0;  // not given
  bool resume = false, json = false, is_auto_scheduler = false;

  void run() {
    check_folder(output);
    if (!report.empty()) check_folder(report);
    prepare_threads();
    std::unique_ptr<ModelTuner> tuner;
    {
      ProgressBar progress;
      tuner = std::make_unique<ModelTuner>(model.load(), tune_options(), runner.make());
    }
    const size_t tunable = tuner->tuner().tasks().size();
    if (!json)
      fmt::print(stderr, "{} of {} kernels have knobs{}\n", tunable, tuner->tasks().size(),
                 resume ? "; measurements of " + output + " are known" : "");
    TuneScreen screen(json);
    const TunedModel result = tuner->run(screen, [this](const CompiledModel& before, const CompiledModel& after) {
      return seconds_in_turns(before, after, model.shapes(), compare_seconds);
    });
    screen.end();
    const TuneReport page{model.path, cpu_text(), output, tuner->tuner(), screen.history(), result};
    if (!report.empty()) write_whole_file(report, html_text(page));
    fmt::print("{}", json ? json_of(page) : text_of(page));
  }

  /// Candidates, the model and the machine model have so many threads.
  void prepare_threads() {
    if (threads <= 0) return;
    const std::string count = std::to_string(threads);
    ::setenv("TVM_NUM_THREADS", count.c_str(), 1);  // of the worker
    set_num_threads(threads);
  }

  Target target() const {
    const Target given = flags.target.target();
    if (threads <= 0 || given->kind->name != "llvm") return given;
    const Target own = Target::parse(given.without_host().str() + " -num-cores=" + std::to_string(threads));
    return given.host() ? own.with_host(given.host()) : own;
  }

  TuneModelOptions tune_options() const {
    TuneModelOptions out;
    CompileFlags compiling = flags;
    compiling.tuning_records.clear();
    out.compile = compiling.options_but_target();
    out.compile.target = target();
    if (out.compile.target->kind->name != "llvm")
      throw Error(NotImplementedError) << "kernels for CPUs (llvm) are tuned; " << out.compile.target.str()
                                       << " is compiled by the rules alone";
    out.tune = options;
    out.tune.seconds = minutes * 60;
    constexpr int64_t kTrials = 1000;
    out.tune.trials = trials > 0 ? trials : minutes > 0 ? 0 : kTrials;
    out.build_timeout = build_timeout;
    out.output = output;
    if (!flags.tuning_records.empty()) out.earlier.push_back(flags.tuning_records);
    if (resume && std::filesystem::exists(output)) out.earlier.push_back(output);
    return out;
  }

  std::string cpu_text() const {
    const auto environment = kernel::CompileEnvironment::make(target(), nullptr, PassContext());
    return environment.machine ? kernel::machine_key(environment.machine) + " threads" : target().str();
  }

  std::string text_of(const TuneReport& page) const {
    const TunedModel& result = page.result;
    constexpr size_t kRows = 40;
    std::string out = tasks_text(page.tuner, kRows, terminal_width());
    out += fmt::format("\n{}: {} trials in {:.0f} s, {} of {} kernels are faster than by their rules\n", output,
                       page.tuner.trials(), page.tuner.elapsed(), result.confirmed, page.tuner.tasks().size());
    if (result.confirmed)
      out += fmt::format("model     {} by the rules, {} tuned, {:.3f} times as fast (measured in turns)\n",
                         seconds_text(result.rule_seconds), seconds_text(result.seconds),
                         result.rule_seconds / result.seconds);
    else out += "model     compiled by the rules alone: nothing that was found is faster when measured in turns\n";
    out += fmt::format("use it    tessera compile {} --tuning-records {}\n", model.path, output);
    return out;
  }

  std::string json_of(const TuneReport& page) const {
    Array<ObjectRef> kernels;
    for (const tune::TaskSearch& search : page.tuner.tasks()) {
      JsonObject row{{"kernel", String(search.task().kernel.name)},
                     {"workload", String(search.task().workload)},
                     {"calls", json_value(search.task().calls)},
                     {"measured", json_value(search.trials().size())},
                     {"failed", json_value(search.errors())}};
      if (search.is_measured()) {
        row.set("rule_seconds", json_value(search.own_seconds()));
        row.set("best_seconds", json_value(search.best_seconds()));
      }
      kernels.push_back(row);
    }
    JsonObject out{{"model", String(model.path)},
                   {"machine", String(page.cpu)},
                   {"output", String(output)},
                   {"trials", json_value(page.tuner.trials())},
                   {"resumed", json_value(page.result.resumed)},
                   {"confirmed", json_value(page.result.confirmed)},
                   {"rule_seconds", json_value(page.result.rule_seconds)},
                   {"seconds", json_value(page.result.seconds)},
                   {"kernels", kernels}};
    return to_json(out) + "\n";
  }
};

/// Flags of v0.10's tune that choose nothing here: they are read.
void add_others(CLI::App& tune, Tune& command) {
  static std::map<std::string, std::string> ignored;
  tune.add_option("--tuner", command.tuner, "Read for tvmc's sake: the search is that of the schedule rules")
      ->check(CLI::IsMember({"ga", "gridsearch", "random", "xgb", "xgb_knob", "xgb-rank"}));
  for (const char* name : {"cache-line-bytes", "num-cores", "vector-unit-bytes", "max-shared-memory-per-block",
                           "max-local-memory-per-block", "max-threads-per-block", "max-vthread-extent", "warp-size"})
    tune.add_option(std::string("--") + name, ignored[name])->check(CLI::Number)->group("");
  tune.add_option("--target-host", command.target_host)->group("");
  tune.add_flag("--enable-autoscheduler", command.is_auto_scheduler)->group("");
  for (const char* name : {"include-simple-tasks", "log-estimated-latency"})
    tune.add_flag(std::string("--") + name)->group("");
}

}  // namespace

void add_tune(CLI::App& app) {
  auto command = std::make_shared<Tune>();
  CLI::App* tune = app.add_subcommand("tune", "Look for faster plans of a model's kernels by measuring");
  command->model.add_to(*tune);
  command->flags.add_to(*tune);
  tune->add_option("-o,--output", command->output, "The file that records are appended to")->required();
  tune::TuneOptions& options = command->options;
  options.run.number = 1;
  options.run.min_repeat_ms = 10;
  tune->add_option("--trials", command->trials, "How many candidates are measured; 1000 unless --minutes is given")
      ->check(CLI::Range(int64_t{1}, int64_t{100000000}));
  tune->add_option("--minutes", command->minutes, "How long the search takes")->check(CLI::Range(0.0, 100000.0));
  tune->add_flag("--resume", command->resume, "Go on with what --output holds");
  tune->add_option("--threads", command->threads, "Threads that kernels run on; when not given, all")
      ->check(CLI::Range(1, 4096));
  tune->add_option("--report", command->report, "Also write a page of HTML with curves");
  tune->add_flag("--json", command->json, "Print one JSON object");
  tune->add_option("--number", options.run.number, "Runs that a measurement is the mean of")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}))
      ->capture_default_str();
  tune->add_option("--repeat", options.run.repeat, "Measurements of a candidate; the least counts")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}))
      ->capture_default_str();
  tune->add_option("--min-repeat-ms", options.run.min_repeat_ms, "Milliseconds that a measurement takes at least")
      ->check(CLI::Range(int64_t{0}, int64_t{100000}))
      ->capture_default_str();
  tune->add_option("--timeout", options.run.timeout, "Seconds after which running a candidate is given up")
      ->check(CLI::Range(0.1, 100000.0))
      ->capture_default_str();
  tune->add_option("--build-timeout", command->build_timeout, "Seconds after which building a candidate is given up")
      ->check(CLI::Range(0.01, 100000.0))
      ->capture_default_str();
  tune->add_option("--parallel", options.threads, "Candidates that are built at once; 0: as many as there are cores")
      ->check(CLI::Range(size_t{0}, size_t{4096}));
  tune->add_option("--early-stopping", options.early_stopping,
                   "Leave a kernel after so many trials without a better one")
      ->check(CLI::Range(int64_t{1}, int64_t{1000000}));
  tune->add_option("--seed", options.seed, "Of the search")->capture_default_str();
  tune->add_option("--compare-seconds", command->compare_seconds, "Of the final comparison, for each side")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command->runner.add_to(*tune);
  add_others(*tune, *command);
  add_verbose(*tune);
  tune->callback([command] { command->run(); });
}

}  // namespace tessera::cli
