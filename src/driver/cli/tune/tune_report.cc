#include "driver/cli/tune/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "driver/cli/bench/measure.h"

namespace tessera::cli {
namespace {

constexpr double kWidth = 720, kHeight = 220, kSmallWidth = 160, kSmallHeight = 32;

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string duration_text(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? seconds_text(seconds) : "-";
}

struct Curve {
  std::vector<std::pair<double, double>> points;  // x, y

  /// A line of steps that fills a box of that size; y from 0.
  std::string svg(double width, double height) const {
    if (points.empty()) return "";
    double right = 1e-9, top = 1e-12;
    for (const auto& [x, y] : points) right = std::max(right, x), top = std::max(top, y);
    std::string path;
    double last = points[0].second;
    for (const auto& [x, y] : points) {
      path += fmt::format("{}{:.1f},{:.1f} {:.1f},{:.1f}", path.empty() ? "M" : " L", x / right * width,
                          height - last / top * height, x / right * width, height - y / top * height);
      last = y;
    }
    return fmt::format(
        "<svg viewBox=\"-2 -2 {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\"><path d=\"{}\" fill=\"none\" "
        "stroke=\"#2563eb\" stroke-width=\"1.5\"/></svg>",
        width + 4, height + 4, width, height, path);
  }
};

/// A run of the model by the best of each kernel, over time, once every kernel has been measured.
Curve model_curve(const TuneReport& report) {
  Curve out;
  size_t known = 0;
  std::vector<bool> seen(report.tuner.tasks().size());
  for (const TuneHistory::Entry& entry : report.history.entries) {
    if (!seen[entry.task]) seen[entry.task] = true, ++known;
    if (known == seen.size() || report.result.resumed > 0) out.points.emplace_back(entry.at, entry.model);
  }
  return out;
}

Curve best_of(const TuneReport& report, size_t task) {
  Curve out;
  double best = INFINITY;
  for (const TuneHistory::Entry& entry : report.history.entries) {
    if (entry.task != task) continue;
    best = std::min(best, entry.seconds);
    if (std::isfinite(best)) out.points.emplace_back(static_cast<double>(out.points.size()), best);
  }
  return out;
}

std::string confirmation_of(const TuneReport& report, size_t task) {
  for (const TuneHistory::Confirmation& each : report.history.confirmations)
    if (each.task == task)
      return fmt::format("{} / {}{}", duration_text(each.own), duration_text(each.found),
                         each.is_taken ? "" : ", not taken");
  return "";
}

std::string rows_of(const TuneReport& report) {
  std::string out;
  for (size_t i = 0; i < report.tuner.tasks().size(); ++i) {
    const tune::TaskSearch& search = report.tuner.tasks()[i];
    out += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escaped(search.task().kernel.name), search.task().calls, duration_text(search.own_seconds()),
        duration_text(search.best_seconds()), search.trials().size(), search.errors(), confirmation_of(report, i),
        best_of(report, i).svg(kSmallWidth, kSmallHeight));
  }
  return out;
}

constexpr const char* kStyle =
    "body{font:14px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#1f2937}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.25em .6em;border-bottom:1px solid "
    "#e5e7eb;text-align:right}"
    "td:first-child,th:first-child{text-align:left;word-break:break-all}svg{background:#f8fafc}"
    "@media(prefers-color-scheme:dark){body{background:#111827;color:#e5e7eb}svg{background:#1f2937}}";

}  // namespace

std::string html_text(const TuneReport& report) {
  const TunedModel& result = report.result;
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Tuning of {0}</title><style>{1}</style>"
      "</head><body>\n<h1>Tuning of {0}</h1>\n<p>{2}; {3} trials in {4:.0f} s, {5} records in {6}.</p>\n",
      escaped(report.model), kStyle, escaped(report.cpu), report.tuner.trials(), report.tuner.elapsed(),
      result.confirmed, escaped(report.output));
  if (result.rule_seconds > 0)
    out += fmt::format(
        "<p>A run of the model, measured in turns: {} by the rules, {} tuned, {:.3f} times as fast.</p>\n",
        duration_text(result.rule_seconds), duration_text(result.seconds), result.rule_seconds / result.seconds);
  out += fmt::format("<h2>The kernels of a run by the best so far</h2>\n{}\n<p>{} at first, {} at last.</p>\n",
                     model_curve(report).svg(kWidth, kHeight), duration_text(report.tuner.own_seconds()),
                     duration_text(report.tuner.best_seconds()));
  out +=
      "<h2>Kernels</h2>\n<table><tr><th>kernel</th><th>calls</th><th>rule</th><th>best</th><th>measured</th>"
      "<th>failed</th><th>in turns</th><th>best so far</th></tr>\n" +
      rows_of(report) + "</table>\n</body></html>\n";
  return out;
}

}  // namespace tessera::cli
