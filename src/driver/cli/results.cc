#include "driver/cli/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "driver/cli/cli.h"
#include "runtime/element.h"

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

std::string summary_row(const std::string& name, size_t width, const NDArray& tensor) {
  Elements elements(tensor);
  int64_t count = tensor.size();
  std::string least = "-", most = "-", mean = "-", first;
  if (count > 0) {
    int64_t low = 0, high = 0, not_numbers = 0;
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      double value = elements.number(i);
      if (std::isnan(value)) {
        ++not_numbers;
        continue;
      }
      sum += value;
      if (value < elements.number(low) || std::isnan(elements.number(low))) low = i;
      if (value > elements.number(high) || std::isnan(elements.number(high))) high = i;
    }
    least = elements.text(low);
    most = elements.text(high);
    mean = not_numbers == count ? "nan" : fmt::format("{:.5g}", sum / static_cast<double>(count - not_numbers));
    for (int64_t i = 0; i < std::min<int64_t>(count, 6); ++i) first += (i ? " " : "") + elements.text(i);
    if (count > 6) first += " ...";
    if (not_numbers) first += fmt::format("  ({} NaN)", not_numbers);
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

std::string top_values(const NDArray& tensor, int64_t count) {
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
  std::vector<std::string> places, values;
  size_t width = 0;
  for (int64_t i = 0; i < count; ++i) {
    places.push_back(std::to_string(order[static_cast<size_t>(i)]));
    values.push_back(elements.text(order[static_cast<size_t>(i)]));
    width = std::max({width, places.back().size(), values.back().size()});
  }
  auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (const std::string& cell : cells) out += fmt::format("{}{:>{}}", out.empty() ? "" : " ", cell, width);
    return out;
  };
  return fmt::format("[[{}]\n [{}]]\n", line(places), line(values));
}

std::string time_table(const std::vector<double>& seconds) {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  auto count = static_cast<double>(sorted.size());
  double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count, variance = 0;
  for (double value : sorted) variance += (value - mean) * (value - mean) / count;
  size_t half = sorted.size() / 2;
  double median = sorted.size() % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  double columns[] = {mean, median, sorted.back(), sorted.front(), std::sqrt(variance)};
  const char* names[] = {"mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)"};
  std::string head, values;
  for (size_t i = 0; i < std::size(columns); ++i) {
    head += fmt::format("{}{:^12}", i ? " " : "", names[i]);
    values += fmt::format("{}{:^12.4f}", i ? " " : "", columns[i] * 1e3);
  }
  return "Execution time summary:\n" + head + "\n" + values + "\n               \n";
}

}  // namespace tessera::cli
