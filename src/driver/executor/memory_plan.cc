#include "driver/executor/memory_plan.h"

#include <map>

namespace tessera::relay {
namespace {

constexpr uint64_t kMatchFactor = 16;

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

}  // namespace

std::vector<uint32_t> plan_memory(const std::vector<PlannedValue>& values) {
  std::vector<uint32_t> out(values.size());
  std::vector<uint64_t> sizes;
  std::map<int, FreeList> free;
  std::multimap<uint32_t, uint32_t> expiring;  // last use -> value
  for (uint32_t i = 0; i < values.size(); ++i) {
    const PlannedValue& value = values[i];
    while (!expiring.empty() && expiring.begin()->first < value.made_at) {
      const uint32_t gone = expiring.begin()->second;
      free[values[gone].device_type].add(out[gone], sizes[out[gone]]);
      expiring.erase(expiring.begin());
    }
    uint64_t size = 0;
    if (value.stays || !free[value.device_type].take(value.bytes, &out[i], &size)) {
      out[i] = static_cast<uint32_t>(sizes.size());
      sizes.push_back(value.bytes);
    }
    sizes[out[i]] = std::max(sizes[out[i]], value.bytes);
    if (!value.stays) expiring.emplace(value.last_use, i);
  }
  return out;
}

}  // namespace tessera::relay
