#include "driver/cli/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "driver/cli/cli.h"
#include "driver/cli/terminal.h"
#include "runtime/function/element.h"

namespace tessera::cli {
namespace {

/// Host tensors, element by element.
class Elements {
 public:
  explicit Elements(const NDArray& tensor)
      : dtype_(tensor.dtype()), data_(tensor.data<char>()), step_(static_cast<size_t>(dtype_.bytes())) {}
  double number(int64_t i) const { return read_float(dtype_, at(i)); }
  std::string text(int64_t i) const {
    if (dtype_.is_bool()) return read_int(dtype_, at(i)) ? "true" : "false";
    if (dtype_.is_integral()) {
      int64_t value = read_int(dtype_, at(i));
      return dtype_.is_uint() ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
    }
    return fmt::format("{:.5g}", number(i));
  }

 private:
  const char* at(int64_t i) const { return data_ + static_cast<size_t>(i) * step_; }
  DataType dtype_;
  const char* data_;
  size_t step_;
};

/// Of the elements that are numbers.
struct Summary {
  int64_t low = 0, high = 0, not_numbers = 0;  // low and high are positions
  double mean = NAN;
};

Summary summarize(const NDArray& tensor) {
  Elements elements(tensor);
  Summary out;
  double sum = 0;
  const int64_t count = tensor.size();
  for (int64_t i = 0; i < count; ++i) {
    double value = elements.number(i);
    if (std::isnan(value)) {
      ++out.not_numbers;
      continue;
    }
    sum += value;
    if (value < elements.number(out.low) || std::isnan(elements.number(out.low))) out.low = i;
    if (value > elements.number(out.high) || std::isnan(elements.number(out.high))) out.high = i;
  }
  if (out.not_numbers < count) out.mean = sum / static_cast<double>(count - out.not_numbers);
  return out;
}

std::string summary_row(const std::string& name, size_t width, const NDArray& tensor) {
  Elements elements(tensor);
  int64_t count = tensor.size();
  std::string least = "-", most = "-", mean = "-", first;
  if (count > 0) {
    const Summary summary = summarize(tensor);
    least = elements.text(summary.low);
    most = elements.text(summary.high);
    mean = fmt::format("{:.5g}", summary.mean);
    for (int64_t i = 0; i < std::min<int64_t>(count, 6); ++i) first += (i ? " " : "") + elements.text(i);
    if (count > 6) first += " ...";
    if (summary.not_numbers) first += fmt::format("  ({} NaN)", summary.not_numbers);
  }
  return fmt::format("{:<{}} {:<22} {:<9} {:>11} {:>11} {:>11}  {}\n", name, width, shape_text(tensor.shape()),
                     to_text(tensor.dtype()), least, most, mean, first);
}

}  // namespace

std::string output_table(const NamedTensors& outputs) {
  size_t width = 10;
  for (const auto& [name, _] : outputs) width = std::max(width, name.size());
  std::string out = fmt::format("{:<{}} {:<22} {:<9} {:>11} {:>11} {:>11}  {}\n", "output", width, "shape", "type",
                                "min", "max", "mean", "first values");
  for (const auto& [name, tensor] : outputs) out += summary_row(printable(name), width, tensor);
  return out;
}

namespace {

/// Positions of the largest numbers of the first row, the largest first.
std::vector<int64_t> largest(const NDArray& tensor, int64_t count) {
  if (tensor.shape().empty() || tensor.size() == 0)
    throw Error(ValueError) << "--print-top: the first output is " << describe(tensor.tensor())
                            << ", which has no list of values";
  int64_t row = tensor.shape().back();
  count = std::min(std::max<int64_t>(count, 0), row);
  Elements elements(tensor);
  std::vector<int64_t> order(static_cast<size_t>(row));
  std::iota(order.begin(), order.end(), 0);
  // NaN counts as largest, as NumPy sorts it.
  auto is_larger = [&](int64_t a, int64_t b) {
    double x = elements.number(a), y = elements.number(b);
    return std::isnan(x) || std::isnan(y) ? std::isnan(x) && !std::isnan(y) : x > y;
  };
  std::stable_sort(order.begin(), order.end(), is_larger);
  order.resize(static_cast<size_t>(count));
  return order;
}

/// JSON has no infinity and no NaN: null.
ObjectRef finite(double value) { return std::isfinite(value) ? json_value(value) : ObjectRef(); }

struct Times {
  double mean, median, max, min, std;

  explicit Times(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    auto count = static_cast<double>(seconds.size());
    mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / count;
    double variance = 0;
    for (double value : seconds) variance += (value - mean) * (value - mean) / count;
    size_t half = seconds.size() / 2;
    median = seconds.size() % 2 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
    max = seconds.back();
    min = seconds.front();
    std = std::sqrt(variance);
  }
};

}  // namespace

std::string top_values(const NDArray& tensor, int64_t count) {
  Elements elements(tensor);
  std::vector<int64_t> order = largest(tensor, count);
  std::vector<std::string> indices, values;
  size_t width = 0;
  for (int64_t index : order) {
    indices.push_back(std::to_string(index));
    values.push_back(elements.text(index));
    width = std::max({width, indices.back().size(), values.back().size()});
  }
  auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (const std::string& cell : cells) out += fmt::format("{}{:>{}}", out.empty() ? "" : " ", cell, width);
    return out;
  };
  return fmt::format("[[{}]\n [{}]]\n", line(indices), line(values));
}

std::string time_table(const std::vector<double>& seconds) {
  const Times times(seconds);
  double columns[] = {times.mean, times.median, times.max, times.min, times.std};
  const char* names[] = {"mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)"};
  std::string head, values;
  for (size_t i = 0; i < std::size(columns); ++i) {
    head += fmt::format("{}{:^12}", i ? " " : "", names[i]);
    values += fmt::format("{}{:^12.4f}", i ? " " : "", columns[i] * 1e3);
  }
  return "Execution time summary:\n" + head + "\n" + values + "\n               \n";
}

JsonObject times_of(const std::vector<double>& seconds) {
  const Times times(seconds);
  Array<ObjectRef> all;
  for (double value : seconds) all.push_back(json_value(value * 1e3));
  return {{"mean_ms", json_value(times.mean * 1e3)}, {"median_ms", json_value(times.median * 1e3)},
          {"max_ms", json_value(times.max * 1e3)},   {"min_ms", json_value(times.min * 1e3)},
          {"std_ms", json_value(times.std * 1e3)},   {"all_ms", all}};
}

JsonObject summary_of(const std::string& name, const NDArray& tensor) {
  Array<ObjectRef> shape;
  for (int64_t extent : tensor.shape()) shape.push_back(json_value(extent));
  JsonObject out{{"name", String(name)}, {"dtype", String(to_text(tensor.dtype()))}, {"shape", shape}};
  if (tensor.size() == 0) return out;
  const Summary summary = summarize(tensor);
  Elements elements(tensor);
  out.set("min", finite(elements.number(summary.low)));
  out.set("max", finite(elements.number(summary.high)));
  out.set("mean", finite(summary.mean));
  out.set("nan", json_value(summary.not_numbers));
  return out;
}

JsonObject top_of(const NDArray& tensor, int64_t count) {
  Elements elements(tensor);
  Array<ObjectRef> indices, values;
  for (int64_t index : largest(tensor, count)) {
    indices.push_back(json_value(index));
    values.push_back(finite(elements.number(index)));
  }
  return {{"indices", indices}, {"values", values}};
}

std::string profile_table(const profiling::ReportNode& report, size_t width) {
  const std::vector<profiling::Metrics> rows = report.rows();
  auto is_number = [&](const std::string& name) {
    return std::ranges::any_of(
        rows, [&](const profiling::Metrics& row) { return profiling::is_measured(row.get_or_null(String(name))); });
  };
  std::vector<std::string> names;
  for (const std::string& name : profiling::columns_of(rows)) {
    std::set<std::string> texts;  // what is the same in all rows says nothing where room is scarce
    for (const profiling::Metrics& row : report.calls)
      texts.insert(profiling::metric_text(row.get_or_null(String(name))));
    bool says_something = name == "Name" || name == "Duration (us)" || (texts.size() > 1 && name != "Hash");
    if (width == 0 || says_something) names.push_back(name);
  }
  std::vector<TableColumn> columns;
  for (const std::string& name : names) columns.push_back({name, is_number(name)});
  std::vector<std::vector<std::string>> cells;
  for (const profiling::Metrics& row : rows) {
    cells.emplace_back();
    for (const std::string& name : names)
      cells.back().push_back(row.empty() ? (name == "Name" ? "----------" : "")
                                         : printable(profiling::metric_text(row.get_or_null(String(name)))));
  }
  std::string out = table_text(columns, std::move(cells), width) + "\n";
  for (const auto& [name, value] : report.configuration)
    out += name.str() + ": " + profiling::metric_text(value) + "\n";
  return out;
}

}  // namespace tessera::cli
