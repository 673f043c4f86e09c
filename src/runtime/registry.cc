#include "runtime/registry.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "base/similar_names.h"
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
  if (!found) throw Error(ValueError) << "Cannot find global function " << name << did_you_mean(name, global_names());
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
