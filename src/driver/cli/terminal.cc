#include "driver/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "runtime/cpu/thread_count.h"

namespace tessera::cli {
namespace {

constexpr size_t kMinCell = 10, kGap = 2;

}  // namespace

size_t terminal_width() {
  if (!isatty(STDOUT_FILENO)) return 0;
  if (int columns = number_from_environment("COLUMNS", 20, 0)) return static_cast<size_t>(columns);
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string wrapped(const std::vector<std::string>& words, size_t indent, size_t width) {
  std::string out;
  size_t at = indent;
  for (const std::string& word : words) {
    if (out.empty()) {
    } else if (width && at + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else {
      out += " ";
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

std::string shortened(std::string_view text, size_t width) {
  constexpr std::string_view kDots = "...";
  if (text.size() <= width) return std::string(text);
  if (width <= kDots.size()) return std::string(text.substr(0, width));
  size_t tail = (width - kDots.size()) / 2, head = width - kDots.size() - tail;
  return std::string(text.substr(0, head)) + std::string(kDots) + std::string(text.substr(text.size() - tail));
}

std::string table_text(const std::vector<TableColumn>& columns, std::vector<std::vector<std::string>> rows,
                       size_t width) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(columns[i].title.size());
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size());
  }
  auto whole = [&] { return std::accumulate(widths.begin(), widths.end(), kGap * (columns.size() - 1)); };
  while (width && whole() > width) {
    size_t widest = columns.size();
    for (size_t i = 0; i < columns.size(); ++i)
      if (!columns[i].is_number && widths[i] > kMinCell && (widest == columns.size() || widths[i] > widths[widest]))
        widest = i;
    if (widest == columns.size()) break;
    --widths[widest];
  }
  std::string out;
  auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      line += i ? std::string(kGap, ' ') : "";
      line += columns[i].is_number ? fmt::format("{:>{}}", cells[i], widths[i])
                                   : fmt::format("{:<{}}", shortened(cells[i], widths[i]), widths[i]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  std::vector<std::string> titles;
  for (const TableColumn& column : columns) titles.push_back(column.title);
  add(titles);
  for (const auto& row : rows) add(row);
  return out;
}

}  // namespace tessera::cli
