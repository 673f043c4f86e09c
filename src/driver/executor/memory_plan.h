#pragma once
// Which values of a graph share memory.

#include <cstdint>
#include <vector>

namespace tessera::relay {

/// One value of a graph in order of computation. `last_use` is the step after which it is free; values that must stay
/// (inputs, parameters, results) are never given away.
struct PlannedValue {
  uint64_t bytes = 0;
  uint32_t made_at = 0, last_use = 0;
  int device_type = 0;
  bool stays = false;
  std::vector<uint32_t> may_replace;  // values of this size whose memory the step that makes this one may write over
};

/// The storage of each value, and the bytes of all storages that do not stay. A value takes the free storage whose size
/// fits best within a factor of 16 (the rule v0.10 has), else one of its own. Values made at a step share with what that
/// step reads only where `may_replace` allows it, and only where the whole plan gets smaller by 64 KiB.
struct MemoryPlan {
  std::vector<uint32_t> storage;
  uint64_t bytes = 0;
};
MemoryPlan plan_memory(const std::vector<PlannedValue>& values);

/// The most bytes of values that are alive at one step, those that stay left out: no plan without replacement needs less.
uint64_t most_live_bytes(const std::vector<PlannedValue>& values);

}  // namespace tessera::relay
