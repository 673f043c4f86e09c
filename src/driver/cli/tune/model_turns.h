#pragma once
// Two compiled models measured in turns.

#include <utility>

#include "driver/compile_model.h"

namespace tessera::cli {

/// The least seconds of a run of each, on random inputs of these shapes: what else a machine does moves medians by more than tuning gains.
/// `seconds` of measuring each.
std::pair<double, double> seconds_in_turns(const CompiledModel& before, const CompiledModel& after,
                                           const InputShapes& shapes, double seconds);

}  // namespace tessera::cli
