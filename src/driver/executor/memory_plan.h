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
};

/// The storage of each value. A value takes the free storage whose size fits best within a factor of 16 (the
/// rule v0.10 has), else one of its own. Values made at a step never share with what that step reads.
std::vector<uint32_t> plan_memory(const std::vector<PlannedValue>& values);

}  // namespace tessera::relay
