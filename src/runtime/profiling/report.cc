// The forms of a report: a table for people, lines for spreadsheets, JSON for programs.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"
#include "runtime/profiling/profiling.h"

namespace tessera::profiling {
namespace {

constexpr const char* kName = "Name";

/// The number in a metric, and how a number of that kind is made; nothing for descriptions.
struct Number {
  double value;
  ObjectRef (*make)(double);
};
ObjectRef count_of(double value) { return count(static_cast<int64_t>(value)); }

std::optional<Number> number_in(const ObjectRef& metric) {
  if (auto* x = metric.as<Count>()) return Number{static_cast<double>(x->value), count_of};
  if (auto* x = metric.as<Duration>()) return Number{x->microseconds, duration};
  if (auto* x = metric.as<Percent>()) return Number{x->percent, percent};
  if (auto* x = metric.as<Ratio>()) return Number{x->ratio, ratio};
  return std::nullopt;
}

double duration_of(const Metrics& row) {
  auto number = number_in(row.get_or_null(kDuration));
  return number ? number->value : 0;
}

/// "-1234567.50" => "-1,234,567.50"
std::string grouped(std::string digits) {
  size_t first = digits.starts_with('-'), end = std::min(digits.find('.'), digits.size());
  for (size_t at = end; at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string shown(const ObjectRef& metric) {
  if (!metric) return "";
  if (auto* text = metric.as<StringNode>()) return text->text;
  if (auto* x = metric.as<Count>()) return grouped(std::to_string(x->value));
  if (auto number = number_in(metric)) return grouped(fmt::format("{:.2f}", number->value));
  return to_text(metric);
}

/// Two lists of names as one, up to a length that a table bears.
std::string both_lists(const std::string& a, const std::string& b) {
  constexpr size_t kMaxBytes = 400;
  constexpr std::string_view kMore = ", ...";
  if (a == b || a.ends_with(kMore)) return a;
  return a.size() + b.size() > kMaxBytes ? a + std::string(kMore) : a + ", " + b;
}

/// Counts, times and shares of rows that belong together are added up; ratios and descriptions stay where they agree.
Metrics sum_of(const std::vector<Metrics>& rows) {
  Metrics out;
  std::set<std::string> differing;
  for (const Metrics& row : rows) {
    for (const auto& [name, value] : row) {
      ObjectRef before = out.get_or_null(name);
      auto a = number_in(before), b = number_in(value);
      if (!before) out.set(name, value);
      else if (name.str() == kNodes) out.set(name, String(both_lists(shown(before), shown(value))));
      else if (a && b && !value.as<Ratio>()) out.set(name, a->make(a->value + b->value));
      else if (shown(before) != shown(value)) differing.insert(name.str());
    }
  }
  for (const std::string& name : differing) out.erase(String(name));
  return out;
}

std::vector<Metrics> aggregated(const Array<Metrics>& calls) {
  std::map<std::vector<std::string>, size_t> group_of;
  std::vector<std::vector<Metrics>> groups;
  for (const Metrics& call : calls) {
    std::vector<std::string> key;
    for (const char* part : {kName, "Hash", "Argument Shapes", "Device"}) key.push_back(shown(call.get_or_null(part)));
    auto [it, is_new] = group_of.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].push_back(call);
  }
  std::vector<Metrics> out;
  for (const auto& group : groups) out.push_back(sum_of(group));
  return out;
}

/// The sums of what can be added up.
Metrics column_sums(const std::vector<Metrics>& rows) {
  Metrics out{{kName, String("Sum")}};
  for (const auto& [name, value] : sum_of(rows))
    if (number_in(value) && !value.as<Ratio>()) out.set(name, value);
  return out;
}

/// Columns as wide as their widest cell; names lean left, all else right. An empty row is a line of dashes.
std::string aligned(const std::vector<std::string>& columns, const std::vector<Metrics>& rows) {
  std::vector<std::vector<std::string>> cells{columns};
  for (const Metrics& row : rows) {
    cells.emplace_back();
    for (const std::string& column : columns)
      cells.back().push_back(row.empty() ? (column == kName ? "----------" : "") : shown(row.get_or_null(column)));
  }
  std::vector<size_t> widths(columns.size());
  for (const auto& line : cells)
    for (size_t i = 0; i < columns.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const auto& line : cells) {
    for (size_t i = 0; i < columns.size(); ++i)
      out += fmt::format(fmt::runtime(columns[i] == kName ? "{:<{}}  " : "{:>{}}  "), line[i], widths[i]);
    out += "\n";
  }
  return out;
}

// ---- JSON ----------------------------------------------------------------------------------------------------

ObjectRef json_of(const ObjectRef& metric) {
  auto pair = [](const char* kind, ObjectRef value) { return Map<String, ObjectRef>{{kind, std::move(value)}}; };
  if (auto* x = metric.as<Count>()) return pair("count", number_boxes.box_int(x->value));
  if (auto* x = metric.as<Duration>()) return pair("microseconds", number_boxes.box_float(x->microseconds));
  if (auto* x = metric.as<Percent>()) return pair("percent", number_boxes.box_float(x->percent));
  if (auto* x = metric.as<Ratio>()) return pair("ratio", number_boxes.box_float(x->ratio));
  return pair("string", String(shown(metric)));
}

ObjectRef json_of(const Metrics& metrics) {
  Map<String, ObjectRef> out;
  for (const auto& [name, value] : metrics) out.set(name, json_of(value));
  return out;
}

[[noreturn]] void bad(const std::string& what) { throw Error(ValueError) << "Report.from_json: " << what; }

template <class T>
T expect(const ObjectRef& value, const std::string& what) {
  if (!value || !value->is_a(T::Node::info)) bad(what);
  return T(static_cast<const typename T::Node*>(value.get()));
}

ObjectRef metric_from(const ObjectRef& json, const std::string& name) {
  auto pair = expect<Map<ObjectRef, ObjectRef>>(json, name + " is not an object that names its kind");
  if (pair.size() != 1) bad(name + " has " + std::to_string(pair.size()) + " kinds");
  auto [key, value] = *pair.begin();
  std::string kind = key.as<StringNode>()->text;
  if (kind == "string") return expect<String>(value, name + " is not a string");
  int64_t integer;
  double number;
  if (kind == "count" && value && number_boxes.unbox_int(value.get(), &integer)) return count(integer);
  if (!value || !number_boxes.unbox_float(value.get(), &number)) bad(name + " is not a number of the kind " + kind);
  if (kind == "microseconds") return duration(number);
  if (kind == "percent") return percent(number);
  if (kind == "ratio") return ratio(number);
  bad(name + " has the unknown kind " + kind);
}

Metrics metrics_from(const ObjectRef& json, const std::string& what) {
  Metrics out;
  for (const auto& [key, value] : expect<Map<ObjectRef, ObjectRef>>(json, what + " is not an object")) {
    auto name = downcast<String>(key);
    out.set(name, metric_from(value, what + "'s " + name.str()));
  }
  return out;
}

}  // namespace

std::vector<std::string> columns_of(const std::vector<Metrics>& rows) {
  std::set<std::string> names;
  for (const Metrics& row : rows)
    for (const auto& [name, _] : row) names.insert(name.str());
  std::vector<std::string> out;
  for (const char* first : {kName, kDuration, "Percent", "Device", "Count", kNodes})
    if (names.erase(first)) out.emplace_back(first);
  out.insert(out.end(), names.begin(), names.end());
  return out;
}

std::string metric_text(const ObjectRef& metric) { return shown(metric); }

bool is_measured(const ObjectRef& metric) { return number_in(metric).has_value(); }

Report mean_report(const std::vector<Report>& reports) {
  auto mean_of = [&](auto part) {  // of the metrics that `part` takes from each report
    Metrics out = part(*reports[0].get());
    for (const auto& [name, first] : Metrics(out)) {
      auto number = number_in(first);
      if (!number) continue;
      double sum = 0;
      for (const Report& report : reports)
        if (auto each = number_in(part(*report.get()).get_or_null(name))) sum += each->value;
      out.set(name, number->make(sum / static_cast<double>(reports.size())));
    }
    return out;
  };
  ReportNode out;
  for (const Report& report : reports)
    if (report->calls.size() != reports[0]->calls.size())
      throw Error(ValueError) << "runs that made " << reports[0]->calls.size() << " and " << report->calls.size()
                              << " calls have no mean";
  for (size_t i = 0; i < reports[0]->calls.size(); ++i)
    out.calls.push_back(mean_of([i](const ReportNode& report) { return report.calls[i]; }));
  for (const auto& [device, _] : reports[0]->device_metrics)
    out.device_metrics.set(device, mean_of([&](const ReportNode& report) { return report.device_metrics[device]; }));
  out.configuration = reports[0]->configuration;
  return make(std::move(out));
}

std::vector<Metrics> ReportNode::rows(bool sort, bool aggregate, bool col_sums) const {
  std::vector<Metrics> rows = aggregate ? aggregated(calls) : calls.vec();
  if (sort)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Metrics& a, const Metrics& b) { return duration_of(a) > duration_of(b); });
  if (col_sums) {
    Metrics sums = column_sums(rows);
    rows.emplace_back();
    rows.push_back(sums);
    for (auto [device, metrics] : device_metrics) {
      metrics.set(kName, String("Total"));
      rows.push_back(metrics);
    }
  }
  return rows;
}

std::string ReportNode::table(bool sort, bool aggregate, bool col_sums) const {
  std::vector<Metrics> rows = this->rows(sort, aggregate, col_sums);
  std::string out = aligned(columns_of(rows), rows) + "\nConfiguration\n-------------\n";
  for (const auto& [name, value] : configuration) out += name.str() + ": " + shown(value) + "\n";
  return out;
}

std::string ReportNode::csv() const {
  std::vector<std::string> columns = columns_of(calls.vec());
  std::sort(columns.begin(), columns.end());
  std::string out;
  for (const std::string& column : columns) out += (out.empty() ? "" : ",") + column;
  for (const Metrics& call : calls) {
    for (size_t i = 0; i < columns.size(); ++i) {
      out += i ? "," : "\n";
      ObjectRef value = call.get_or_null(columns[i]);
      if (auto number = number_in(value)) {
        out += fmt::format("{}", number->value);
        continue;
      }
      out += '"';
      for (char c : shown(value)) out += c == '"' ? "\"\"" : std::string(1, c);
      out += '"';
    }
  }
  return out + "\n";
}

std::string ReportNode::json() const {
  Array<ObjectRef> rows;
  for (const Metrics& call : calls) rows.push_back(json_of(call));
  Map<String, ObjectRef> devices;
  for (const auto& [device, metrics] : device_metrics) devices.set(device, json_of(metrics));
  return to_json(
      Map<String, ObjectRef>{{"calls", rows}, {"device_metrics", devices}, {"configuration", json_of(configuration)}});
}

Report report_from_json(std::string_view text) {
  auto root = expect<Map<ObjectRef, ObjectRef>>(parse_json(text), "the text is not an object");
  auto part = [&](const char* name) { return root.get_or_null(String(name)); };
  ReportNode out;
  for (const ObjectRef& call : expect<Array<ObjectRef>>(part("calls"), "calls is not a list"))
    out.calls.push_back(metrics_from(call, "call " + std::to_string(out.calls.size())));
  for (const auto& [key, value] :
       expect<Map<ObjectRef, ObjectRef>>(part("device_metrics"), "device_metrics is not an object")) {
    auto device = downcast<String>(key);
    out.device_metrics.set(device, metrics_from(value, "device " + device.str()));
  }
  if (part("configuration")) out.configuration = metrics_from(part("configuration"), "configuration");
  return make(std::move(out));
}

}  // namespace tessera::profiling
