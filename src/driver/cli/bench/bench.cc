// tessera bench: how long a model takes, beside other runtimes where asked.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>

#include "driver/cli/bench/bench_report.h"
#include "driver/cli/bench/memory.h"
#include "driver/cli/bench/peer.h"
#include "driver/cli/bench/trace.h"
#include "driver/cli/cli.h"
#include "driver/cli/progress_bar.h"
#include "driver/cli/runner.h"
#include "runtime/archive/files.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/package/model.h"

namespace tessera::cli {
namespace {

struct Options {
  ModelFlags model;
  CompileFlags compile;
  MeasurePlan plan;
  std::string threads = "1,all", inputs, fill = "random", compare, json, trace;
  int callers = 1;
  Tolerance tolerance;
};

std::vector<int> thread_counts(const std::string& list) {
  std::vector<int> out;
  for (const std::string& word : split_list(list)) {
    int count = word == "all" ? default_thread_count() : std::atoi(word.c_str());
    if (count < 1 || count > 4096)
      throw Error(ValueError) << "--threads takes numbers and \"all\" with commas between, not \"" << list << "\"";
    if (std::find(out.begin(), out.end(), count) == out.end()) out.push_back(count);
  }
  if (out.empty()) throw Error(ValueError) << "--threads names no number of threads";
  return out;
}

std::vector<std::string> peers_of(const std::string& list) {
  std::vector<std::string> out = split_list(list);
  for (const std::string& name : out)
    if (!is_peer(name))
      throw Error(ValueError) << "--compare knows no runtime \"" << name << "\"; there are "
                              << fmt::format("{}", fmt::join(kPeers, ", "));
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The bench at work: one model, one set of inputs.
class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), peers_(peers_of(options.compare)) {}

  BenchReport run() {
    std::vector<int> counts = thread_counts(options_.threads);
    {
      ProgressBar bar;
      report_.subject = make_subject(options_.model, options_.compile.options(), true);
    }
    if (!peers_.empty() && report_.subject.format != "onnx")
      throw Error(ValueError) << "--compare needs an ONNX file, which other runtimes can read too; "
                              << options_.model.path << " is none";
    model_ = std::make_unique<Model>(report_.subject.runnable);
    report_.device = device_text(model_->device());
    report_.callers = options_.callers;
    prepare_inputs();
    report_.compile_peak_bytes = peak_memory();
    forget_peak_memory();
    auto begin = std::chrono::steady_clock::now();
    answers_ = model_->run(inputs_);
    report_.first_run_seconds = seconds_since(begin);
    for (int count : counts) measure(count);
    if (!options_.trace.empty())
      write_trace(options_.trace, report_.subject.runnable, model_->device(), report_.inputs, kTracedRuns);
    return std::move(report_);
  }

 private:
  static constexpr int kTracedRuns = 3;

  void prepare_inputs() {
    NamedTensors given;
    if (!options_.inputs.empty()) given = load_npz(options_.inputs);
    report_.inputs = make_inputs(model_->inputs(), given, fill_of(options_.fill), options_.model.shapes());
    for (const auto& [_, tensor] : report_.inputs) inputs_.push_back(tensor);
    input_file_ = folder_.file("inputs.npz");
    if (!peers_.empty()) save_npz(input_file_, report_.inputs);
  }

  /// Everybody on so many threads.
  void measure(int threads) {
    set_num_threads(threads);
    std::vector<BenchRow> rows{{.name = "tessera", .version = "", .threads = threads}};
    std::vector<Contestant> contestants{
        {"tessera", [this](int64_t count, int64_t number) { return time(count, number); }}};
    std::vector<std::unique_ptr<Peer>> peers;
    for (const std::string& name : peers_) {
      try {
        peers.push_back(std::make_unique<Peer>(Peer::Request{name, options_.model.path, input_file_, threads}));
      } catch (const Error& error) {
        note_missing(name, error.message());
        continue;
      }
      Peer* peer = peers.back().get();
      rows.push_back({.name = peer->name, .version = peer->version, .threads = threads});
      contestants.push_back({name, [peer](int64_t count, int64_t number) { return peer->measure(count, number); }});
      check_answers(*peer);
    }
    std::vector<Statistics> times = measure_in_turns(contestants, options_.plan);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].times = times[i];
    if (options_.callers > 1)
      rows[0].callers_per_second =
          throughput(options_.callers, options_.plan.seconds, [this](int) { model_->run(inputs_); });
    report_.run_peak_bytes = peak_memory();
    for (BenchRow& row : rows) report_.rows.push_back(std::move(row));
  }

  std::vector<double> time(int64_t count, int64_t number) const {
    std::vector<double> out;
    for (int64_t i = 0; i < count; ++i) {
      auto begin = std::chrono::steady_clock::now();
      for (int64_t k = 0; k < number; ++k) model_->run(inputs_);
      out.push_back(seconds_since(begin) / static_cast<double>(number));
    }
    return out;
  }

  void note_missing(const std::string& name, const std::string& why) {
    for (const auto& [known, _] : report_.missing)
      if (known == name) return;
    report_.missing.emplace_back(name, why);
  }

  void check_answers(Peer& peer) {
    for (const Agreement& known : report_.agreements)
      if (known.name == peer.name) return;
    std::vector<NDArray> theirs = peer.results();
    Agreement out{.name = peer.name};
    if (theirs.size() != answers_.size()) {
      out.agrees = false;
      out.text = fmt::format("{} outputs, and {} of tessera", theirs.size(), answers_.size());
    }
    double worst = -1;
    for (size_t i = 0; out.agrees && i < theirs.size(); ++i) {
      Difference difference = compare(answers_[i], theirs[i], options_.tolerance);
      out.agrees = difference.agrees;
      if (difference.agrees && difference.max_abs <= worst) continue;
      worst = difference.max_abs;
      out.text = (i < peer.outputs.size() ? peer.outputs[i] + ": " : "") + difference.text(answers_[i].shape());
    }
    report_.agreements.push_back(std::move(out));
  }

  const Options& options_;
  std::vector<std::string> peers_;
  BenchReport report_;
  std::unique_ptr<Model> model_;
  std::vector<NDArray> inputs_, answers_;
  TemporaryFolder folder_;
  std::string input_file_;
};

void bench(const Options& options) {
  BenchReport report = Bench(options).run();
  if (options.json != "-") print(report);
  if (options.json == "-") fmt::print("{}\n", to_json_text(report));
  else if (!options.json.empty()) write_whole_file(options.json, to_json_text(report) + "\n");
  for (const Agreement& agreement : report.agreements)
    if (!agreement.agrees) throw ExitWith{1};
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "How long a model takes, beside other runtimes where asked");
  options->model.add_to(*command, "MODEL");
  options->compile.add_to(*command);
  command->add_option("-i,--inputs", options->inputs, "Inputs, a .npz file; others are filled");
  command->add_option("--fill-mode", options->fill, "What other inputs are filled with")
      ->check(CLI::IsMember({"zeros", "ones", "random"}));
  command->add_option("--seconds", options->plan.seconds, "Time of measuring each runtime")->check(CLI::PositiveNumber);
  command->add_option("--repeat", options->plan.repeat, "Number of samples, in place of --seconds")
      ->check(CLI::PositiveNumber);
  command->add_option("--number", options->plan.number, "Runs in each sample, which is their mean")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", options->threads, "Numbers of threads, such as 1,2,all");
  command->add_option("--callers", options->callers, "Also the throughput of so many callers of one model at once")
      ->check(CLI::Range(1, 4096));
  command->add_option("--compare", options->compare, "Other runtimes to measure in turns: ort, openvino");
  command->add_option("--rtol", options->tolerance.rtol, "Relative error that answers may have beside theirs");
  command->add_option("--atol", options->tolerance.atol, "Absolute error; else 1e-5 of the largest value");
  command->add_option("--json", options->json, "Also write a JSON file; - prints it instead of the table");
  command->add_option("--trace", options->trace, "Write three runs as a file for chrome://tracing and ui.perfetto.dev");
  command->footer("The exit code is 1 when another runtime gives other answers.");
  command->callback([options] { bench(*options); });
}

}  // namespace tessera::cli
