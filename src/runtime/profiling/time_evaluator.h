#pragma once
// Measuring calls: `repeat` means of `number` calls each, as v0.10's time_evaluator does.

#include <vector>

#include "runtime/packed_func.h"

namespace tessera {

struct TimePlan {
  DLDevice device;
  int64_t number = 10, repeat = 1, min_repeat_ms = 0, limit_zero_time_iterations = 100, cooldown_ms = 0,
          repeats_to_cooldown = 1;
  PackedFunc prepare = nullptr;  // called with the arguments before each measurement; may be empty
  double counted_seconds = 0;    // a first call that takes as long is counted; 0: none is

  /// A ValueError that begins with `who` where the numbers make no sense.
  void check(const char* who) const;
};

/// Seconds of one call, `plan.repeat` times. One call before them warms caches and is not counted, unless the plan says so.
std::vector<double> measure_calls(const PackedFunc& function, Args args, const TimePlan& plan);

/// The numbers as bytes, which is how they travel to Python.
Bytes to_bytes(const std::vector<double>& seconds);

}  // namespace tessera
