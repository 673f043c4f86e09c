#include "driver/executor/memory_plan.h"

#include <algorithm>
#include <map>

namespace tessera::relay {
namespace {

constexpr uint64_t kMatchFactor = 16;
constexpr uint64_t kWorthBytes = 1 << 16;  // below this, kernels that may count on no overlap are worth more

/// Storages that hold nothing at the moment, by size.
class FreeList {
 public:
  void add(uint32_t storage, uint64_t bytes) { by_size_.emplace(bytes, storage); }

  /// Takes the smallest one that is large enough but not too large, else the largest of the smaller ones.
  bool take(uint64_t bytes, uint32_t* storage, uint64_t* size) {
    auto larger = by_size_.lower_bound(bytes);
    if (larger != by_size_.end() && larger->first <= bytes * kMatchFactor) return remove(larger, storage, size);
    if (larger == by_size_.begin()) return false;
    auto smaller = std::prev(larger);
    return smaller->first >= bytes / kMatchFactor && remove(smaller, storage, size);
  }

 private:
  using Map = std::multimap<uint64_t, uint32_t>;
  bool remove(Map::iterator at, uint32_t* storage, uint64_t* size) {
    *size = at->first;
    *storage = at->second;
    by_size_.erase(at);
    return true;
  }
  Map by_size_;
};

/// The first of the values that may be replaced whose last use is the step that makes `value`.
const uint32_t* replaced_by(const PlannedValue& value, const std::vector<PlannedValue>& values) {
  for (const uint32_t& other : value.may_replace)
    if (!values[other].stays && values[other].last_use == value.made_at && values[other].bytes == value.bytes &&
        values[other].device_type == value.device_type)
      return &other;
  return nullptr;
}

MemoryPlan plan(const std::vector<PlannedValue>& values, bool replaces) {
  MemoryPlan out;
  out.storage.resize(values.size());
  std::vector<uint64_t> sizes;
  std::vector<bool> stays, is_replaced(values.size());
  std::map<int, FreeList> free;
  std::multimap<uint32_t, uint32_t> expiring;  // last use -> value
  for (uint32_t i = 0; i < values.size(); ++i) {
    const PlannedValue& value = values[i];
    while (!expiring.empty() && expiring.begin()->first < value.made_at) {
      const uint32_t gone = expiring.begin()->second;
      uint32_t storage = out.storage[gone];
      if (!is_replaced[gone]) free[values[gone].device_type].add(storage, sizes[storage]);
      expiring.erase(expiring.begin());
    }
    uint32_t& storage = out.storage[i];
    uint64_t size = 0;
    const uint32_t* over = replaces && !value.stays ? replaced_by(value, values) : nullptr;
    if (over && !is_replaced[*over]) {
      storage = out.storage[*over];
      is_replaced[*over] = true;
    } else if (value.stays || !free[value.device_type].take(value.bytes, &storage, &size)) {
      storage = static_cast<uint32_t>(sizes.size());
      sizes.push_back(value.bytes);
      stays.push_back(value.stays);
    }
    sizes[storage] = std::max(sizes[storage], value.bytes);
    if (!value.stays) expiring.emplace(value.last_use, i);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) out.bytes += stays[i] ? 0 : sizes[i];
  return out;
}

}  // namespace

MemoryPlan plan_memory(const std::vector<PlannedValue>& values) {
  MemoryPlan apart = plan(values, false), over = plan(values, true);
  return over.bytes + kWorthBytes <= apart.bytes ? over : apart;
}

uint64_t most_live_bytes(const std::vector<PlannedValue>& values) {
  uint64_t live = 0, most = 0;
  std::multimap<uint32_t, uint64_t> ending;  // last use -> bytes
  for (const PlannedValue& value : values) {
    for (; !ending.empty() && ending.begin()->first < value.made_at; ending.erase(ending.begin()))
      live -= ending.begin()->second;
    if (value.stays) continue;
    live += value.bytes;
    most = std::max(most, live);
    ending.emplace(value.last_use, value.bytes);
  }
  return most;
}

}  // namespace tessera::relay
