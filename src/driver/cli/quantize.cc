// tessera quantize: a float model to one whose layers compute on integers, and what that costs in accuracy.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <filesystem>

#include "driver/cli/accuracy.h"
#include "driver/cli/cli.h"
#include "driver/cli/json.h"
#include "driver/cli/model_flags.h"
#include "driver/cli/progress_bar.h"
#include "driver/cli/runner.h"
#include "driver/quantize_model.h"
#include "runtime/archive/files.h"

namespace tessera::cli {
namespace {

constexpr size_t kMaxOnnxBytes = (size_t{1} << 31) - 1;  // of a protobuf message

struct Quantize {
  ModelFlags model;
  CompileFlags flags;
  std::string data, output;
  QuantizeOptions options;
  bool json = false;

  /// What is told of it.
  struct Report {
    size_t layers = 0, all_layers = 0, samples = 0;
    bool by_channel = false;
    uint64_t bytes = 0, bytes_before = 0;
    double ms = 0, ms_before = 0;
    Agreements outputs;
  };

  void run() const {
    const bool is_package = output.ends_with(".tar");
    if (!is_package && !output.ends_with(".onnx"))
      throw Error(ValueError) << "--output is a model (name.onnx) or a package (name.tar), not " << output;
    if (const std::string format = model.format.empty() ? guess_model_format(model.path) : model.format;
        format != "onnx")
      throw Error(ValueError) << "models of ONNX are quantised; " << model.path << " is of the format " << format;
    if (flags.precision != "fp32")
      throw Error(ValueError) << "quantised layers are on int8; leave out --precision " << flags.precision;
    check_folder(output);
    Report report;
    {
      ProgressBar progress;
      report = quantize(is_package);
    }
    fmt::print("{}", json ? json_of(report) : text_of(report));
  }

  Report quantize(bool is_package) const {
    const CompileOptions compiling = flags.options();
    const onnx::Model given = onnx::read_model(model.path, model.allow_links);
    Runner before(compile_model(load_onnx(given, model.shapes(), model.path), compiling).runnable, device_of("cpu"));
    const std::vector<NamedTensors> samples = split_samples(load_npz(data), before.inputs());
    std::vector<onnx::QuantizableLayer> layers = chosen_layers(given, options);
    if (layers.empty() || samples.empty())
      throw Error(ValueError)
          << (samples.empty()
                  ? data + " has no samples"
                  : model.path +
                        " has no layer of constant float32 weights to quantise but for the first (--with-first) "
                        "and those that are skipped");
    const auto ranges = calibrate(given, model.shapes(), layers, samples, options, compiling);
    if (options.min_snr)
      layers = robust_layers(given, model.shapes(), layers, ranges, samples, *options.min_snr, compiling);
    onnx::QuantizedModel made = onnx::quantize_model(given, layers, ranges);
    if (!is_package && made.bytes.size() > kMaxOnnxBytes)
      throw Error(ValueError) << "the quantised model has " << bytes_text(made.bytes.size())
                              << ", and a file of ONNX holds 2 GB; write a package (-o name.tar) instead";
    auto bytes = std::make_shared<std::string>(std::move(made.bytes));
    const onnx::Model changed = onnx::parse_model(*bytes, bytes, {});
    CompiledModel compiled = compile_model(load_onnx(changed, model.shapes(), output), compiling);
    Runner after(compiled.runnable, device_of("cpu"));
    is_package ? export_package(compiled, output) : write_whole_file(output, *bytes);

    Report out{.layers = layers.size(),
               .all_layers = onnx::quantizable_layers(given).size(),
               .samples = samples.size(),
               .by_channel = made.by_channel,
               .bytes = std::filesystem::file_size(output),
               .bytes_before = std::filesystem::file_size(model.path)};
    out.outputs = agreements(before, after, samples);
    measure(before, after, &out);
    return out;
  }

  /// The shortest of some runs each, taken in turns.
  static void measure(Runner& before, Runner& after, Report* out) {
    begin_stage("measure");
    constexpr int kTurns = 5;
    double best[2] = {INFINITY, INFINITY};
    for (int turn = 0; turn < kTurns; ++turn) {
      best[0] = std::min(best[0], before.measure(1, 2, false).back());
      best[1] = std::min(best[1], after.measure(1, 2, false).back());
    }
    out->ms_before = best[0] * 1e3;
    out->ms = best[1] * 1e3;
  }

  std::string text_of(const Report& report) const {
    std::string out = fmt::format("{}: {} (before: {}), {} of {} layers on int8, a scale for each {}\n", output,
                                  bytes_text(report.bytes), bytes_text(report.bytes_before), report.layers,
                                  report.all_layers, report.by_channel ? "channel" : "weight");
    out += fmt::format("{:.2f} ms a run (before: {:.2f} ms), {:.2f} times as fast\n\n", report.ms, report.ms_before,
                       report.ms_before / report.ms);
    out += cli::text_of(report.outputs, report.samples);
    return out;
  }

  std::string json_of(const Report& report) const {
    Array<ObjectRef> outputs;
    for (const auto& [name, each] : report.outputs) {
      JsonObject row{{"name", String(name)},
                     {"largest_difference", json_value(each.largest)},
                     {"rows", json_value(each.rows)},
                     {"same_argmax", json_value(each.same)}};
      if (std::isfinite(each.decibels())) row.set("decibels", json_value(each.decibels()));
      outputs.push_back(row);
    }
    JsonObject out{{"model", String(model.path)},
                   {"output", String(output)},
                   {"layers", json_value(report.layers)},
                   {"all_layers", json_value(report.all_layers)},
                   {"samples", json_value(report.samples)},
                   {"bytes", json_value(report.bytes)},
                   {"bytes_before", json_value(report.bytes_before)},
                   {"milliseconds", json_value(report.ms)},
                   {"milliseconds_before", json_value(report.ms_before)},
                   {"outputs", outputs}};
    return to_json(out) + "\n";
  }
};

}  // namespace

void add_quantize(CLI::App& app) {
  auto command = std::make_shared<Quantize>();
  CLI::App* sub = app.add_subcommand("quantize", "Put the layers of an ONNX model on int8, by what samples show");
  command->model.add_to(*sub);
  sub->add_option("-d,--data", command->data, "A .npz file with samples by the names of inputs, along a first axis")
      ->required();
  sub->add_option("-o,--output", command->output, "What is written: a model (name.onnx) or a package (name.tar)")
      ->required();
  sub->add_option("--percentile", command->options.percentile,
                  "How many of the values of a tensor its range holds; 100: all")
      ->check(CLI::Range(50.0, 100.0))
      ->capture_default_str();
  sub->add_option("--skip", command->options.skip, "A node that stays as it is; may be given several times");
  sub->add_option("--min-snr", command->options.min_snr,
                  "Decibels of signal to noise that results keep: layers that lose most stay in float32");
  sub->add_flag("--with-first", command->options.with_first,
                "Also the first layer, which loses most and has little to do");
  sub->add_flag("--json", command->json, "Print one JSON object");
  command->flags.add_to(*sub);
  add_verbose(*sub);
  sub->callback([command] { command->run(); });
}

}  // namespace tessera::cli
