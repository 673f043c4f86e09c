#pragma once
// Text that fits the terminal.

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// Columns of the terminal that stdout is: COLUMNS where it is set, else what the terminal says. 0 where stdout is no
/// terminal: programs read whole lines.
size_t terminal_width();

/// Words on as many lines as they need, each line after the first begun by `indent` blanks. `width` 0: one line.
std::string wrapped(const std::vector<std::string>& words, size_t indent, size_t width);

/// The text itself where it has at most `width` characters, else its beginning and its end with "..." between.
std::string shortened(std::string_view text, size_t width);

/// A table. Columns are as wide as their widest cell; where the whole is wider than `width` (0: any), the widest columns
/// that hold text are shortened, down to `kMinCell` characters. Columns of numbers lean right.
struct TableColumn {
  std::string title;
  bool is_number = false;
};
std::string table_text(const std::vector<TableColumn>& columns, std::vector<std::vector<std::string>> rows,
                       size_t width);

}  // namespace tessera::cli
