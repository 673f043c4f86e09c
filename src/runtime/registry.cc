#include "runtime/registry.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "runtime/extension.h"

namespace tessera {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<std::string, PackedFunc, std::less<>> functions;
};

// Never destroyed: functions may be asked for while the process ends.
Table& table() {
  static auto* instance = new Table;
  return *instance;
}

/// Number of edits between two names, for "did you mean".
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

std::string similar_names(std::string_view name) {
  std::vector<std::pair<size_t, std::string>> close;
  for (const std::string& known : global_names()) {
    size_t edits = distance(name, known);
    if (edits <= std::max<size_t>(2, name.size() / 4)) close.emplace_back(edits, known);
  }
  std::sort(close.begin(), close.end());
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(close.size(), 3); ++i)
    out += (i ? ", " : "; did you mean ") + close[i].second;
  return out;
}

}  // namespace

void register_global(const std::string& name, PackedFunc function, bool override) {
  std::unique_lock lock(table().mutex);
  auto [it, added] = table().functions.try_emplace(name, function);
  if (added) return;
  if (!override)
    throw Error(ValueError) << "a global function \"" << name << "\" exists already; pass override=True to replace it";
  it->second = std::move(function);
  note_extension();
}

namespace {

std::atomic<bool> extended{false};

}  // namespace

void note_extension() { extended = true; }
bool is_extended() { return extended; }

PackedFunc find_global(std::string_view name) {
  std::shared_lock lock(table().mutex);
  auto it = table().functions.find(name);
  return it == table().functions.end() ? PackedFunc(nullptr) : it->second;
}

PackedFunc get_global(std::string_view name) {
  PackedFunc found = find_global(name);
  if (!found) throw Error(ValueError) << "Cannot find global function " << name << similar_names(name);
  return found;
}

bool remove_global(std::string_view name) {
  PackedFunc kept;  // destroyed outside the lock
  std::unique_lock lock(table().mutex);
  auto it = table().functions.find(name);
  if (it == table().functions.end()) return false;
  kept = std::move(it->second);
  table().functions.erase(it);
  lock.unlock();
  return true;
}

std::vector<std::string> global_names() {
  std::shared_lock lock(table().mutex);
  std::vector<std::string> names;
  for (const auto& [name, _] : table().functions) names.push_back(name);
  return names;
}

}  // namespace tessera
