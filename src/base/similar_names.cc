#include "base/similar_names.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

/// Number of edits between two names (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> similar_names(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kMaxNames = 3;
  std::vector<std::pair<size_t, std::string>> close;
  for (const std::string& each : known) {
    size_t edits = distance(name, each);
    if (edits <= std::max<size_t>(2, name.size() / 4)) close.emplace_back(edits, each);
  }
  std::sort(close.begin(), close.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(close.size(), kMaxNames); ++i) out.push_back(close[i].second);
  return out;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  std::string out;
  for (const std::string& each : similar_names(name, known)) out += (out.empty() ? "; did you mean " : ", ") + each;
  return out;
}

}  // namespace tessera
