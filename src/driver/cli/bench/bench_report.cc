#include "driver/cli/bench/bench_report.h"

#include <fmt/format.h>

#include "base/json.h"
#include "driver/cli/cli.h"
#include "driver/cli/inspect/facts.h"

namespace tessera::cli {
namespace {

void line(const char* name, const std::string& text) { fmt::print("{:<10}{}\n", name, text); }

std::string full_name(const BenchRow& row) { return row.version.empty() ? row.name : row.name + " " + row.version; }

/// How many times Tessera's time on as many threads a row takes; 0 for Tessera itself.
double ratio_of(const BenchReport& report, const BenchRow& row) {
  for (const BenchRow& other : report.rows)
    if (other.threads == row.threads) return &other == &row ? 0 : row.times.p50 / other.times.p50;
  return 0;
}

void print_rows(const BenchReport& report) {
  size_t width = 12;
  for (const BenchRow& row : report.rows) width = std::max(width, full_name(row).size() + 2);
  fmt::print("\n{:<{}}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>10}", "", width, "threads", "mean", "p50", "p90",
             "p99", "min", "runs", "per s");
  if (report.callers > 1) fmt::print("{:>20}", fmt::format("per s, {} callers", report.callers));
  fmt::print("\n");
  for (const BenchRow& row : report.rows) {
    const Statistics& t = row.times;
    fmt::print("{:<{}}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>10}", full_name(row), width, row.threads,
               seconds_text(t.mean), seconds_text(t.p50), seconds_text(t.p90), seconds_text(t.p99), seconds_text(t.min),
               t.runs, fmt::format("{:.4g}", 1 / t.mean));
    if (row.callers_per_second > 0) fmt::print("{:>20}", fmt::format("{:.4g}", row.callers_per_second));
    if (double ratio = ratio_of(report, row)) fmt::print("  {:.2f}x tessera's time", ratio);
    fmt::print("\n");
  }
}

using Json = Map<String, ObjectRef>;

template <class T>
ObjectRef value(const T& given) {
  return box(Any(given));
}

Json json_of(const BenchReport& report, const BenchRow& row) {
  const Statistics& t = row.times;
  Json out{{"name", String(row.name)},      {"version", String(row.version)},
           {"threads", value(row.threads)}, {"runs", value(t.runs)},
           {"mean", value(t.mean)},         {"p50", value(t.p50)},
           {"p90", value(t.p90)},           {"p99", value(t.p99)},
           {"min", value(t.min)},           {"per_second", value(1 / t.mean)}};
  if (row.callers_per_second > 0) out.set("per_second_of_callers", value(row.callers_per_second));
  if (double ratio = ratio_of(report, row)) out.set("times_tessera", value(ratio));
  return out;
}

}  // namespace

void print(const BenchReport& report) {
  const Subject& subject = report.subject;
  line("model", fmt::format("{} ({}, {} executor, {})", printable(subject.path), subject.format, subject.executor,
                            report.device));
  for (size_t i = 0; i < report.inputs.size(); ++i) {
    const auto& [name, tensor] = report.inputs[i];
    line(i ? "" : "inputs",
         fmt::format("{} {}({})", printable(name), to_text(tensor.dtype()), fmt::join(tensor.shape(), ", ")));
  }
  line("ready", fmt::format("{} to {}, {} for the first run", seconds_text(subject.seconds),
                            subject.format == "package" || subject.format == "library" ? "load" : "read and compile",
                            seconds_text(report.first_run_seconds)));
  if (subject.bytes) line("package", bytes_text(subject.bytes));
  if (report.run_peak_bytes)
    line("memory", fmt::format("peak {} until ready, {} while running", bytes_text(report.compile_peak_bytes),
                               bytes_text(report.run_peak_bytes)));
  print_rows(report);
  if (!report.agreements.empty() || !report.missing.empty()) fmt::print("\n");
  for (const Agreement& agreement : report.agreements)
    fmt::print("{} gives {}: {}\n", agreement.name, agreement.agrees ? "the same answers" : "OTHER ANSWERS",
               agreement.text);
  for (const auto& [name, why] : report.missing) fmt::print("{} was not measured: {}\n", name, printable(why));
}

std::string to_json_text(const BenchReport& report) {
  Array<ObjectRef> rows, agreements;
  for (const BenchRow& row : report.rows) rows.push_back(json_of(report, row));
  for (const Agreement& agreement : report.agreements)
    agreements.push_back(
        Json{{"name", String(agreement.name)}, {"agrees", value(agreement.agrees)}, {"text", String(agreement.text)}});
  Json missing, inputs;
  for (const auto& [name, why] : report.missing) missing.set(String(name), String(why));
  for (const auto& [name, tensor] : report.inputs) {
    Array<ObjectRef> shape;
    for (int64_t extent : tensor.shape()) shape.push_back(value(extent));
    inputs.set(String(name), Json{{"shape", shape}, {"dtype", String(to_text(tensor.dtype()))}});
  }
  auto bytes = [](uint64_t count) { return value(static_cast<int64_t>(count)); };
  return to_json(Json{{"model", String(report.subject.path)},
                      {"format", String(report.subject.format)},
                      {"executor", String(report.subject.executor)},
                      {"device", String(report.device)},
                      {"inputs", inputs},
                      {"ready_seconds", value(report.subject.seconds)},
                      {"first_run_seconds", value(report.first_run_seconds)},
                      {"package_bytes", bytes(report.subject.bytes)},
                      {"compile_peak_bytes", bytes(report.compile_peak_bytes)},
                      {"run_peak_bytes", bytes(report.run_peak_bytes)},
                      {"callers", value(report.callers)},
                      {"times", rows},
                      {"agreement", agreements},
                      {"not_measured", missing}});
}

}  // namespace tessera::cli
