#include "ir/op.h"

#include <map>
#include <mutex>

namespace tessera {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, Op, std::less<>> ops;
};

Table& table() {
  static auto* instance = new Table;
  return *instance;
}

std::mutex slot_mutex;

}  // namespace

Op Op::find(std::string_view name) {
  std::lock_guard lock(table().mutex);
  auto it = table().ops.find(name);
  return it == table().ops.end() ? Op(nullptr) : it->second;
}

Op Op::get(std::string_view name) {
  Op found = find(name);
  if (!found) throw Error(AttributeError) << "no operator \"" << name << "\" is registered";
  return found;
}

Op Op::define(std::string_view name) {
  std::lock_guard lock(table().mutex);
  auto it = table().ops.find(name);
  if (it != table().ops.end()) return it->second;
  OpNode node;
  node.name = String(name);
  Op op = make(std::move(node));
  table().ops.emplace(std::string(name), op);
  return op;
}

std::vector<std::string> Op::names() {
  std::lock_guard lock(table().mutex);
  std::vector<std::string> out;
  for (const auto& [name, _] : table().ops) out.push_back(name);
  return out;
}

bool Op::has(const std::string& slot) const {
  std::lock_guard lock(slot_mutex);
  return checked()->slots.count(slot);
}

Any Op::slot(const std::string& slot) const {
  std::lock_guard lock(slot_mutex);
  auto it = checked()->slots.find(slot);
  return it == checked()->slots.end() ? Any() : it->second.first;
}

const Op& Op::set(const std::string& slot, Any value, int level) const {
  std::lock_guard lock(slot_mutex);
  auto [it, added] = edit()->slots.try_emplace(slot, value, level);
  if (added) return *this;
  auto& [held, held_level] = it->second;
  if (held_level == level)
    throw Error(ValueError) << "operator " << checked()->name << ": " << slot << " is set already at level " << level
                            << "; give a higher level to replace it";
  if (held_level < level) it->second = {std::move(value), level};
  return *this;
}

void Op::reset(const std::string& slot) const {
  std::lock_guard lock(slot_mutex);
  edit()->slots.erase(slot);
}

}  // namespace tessera
