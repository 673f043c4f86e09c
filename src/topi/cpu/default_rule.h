#pragma once
// The schedule of a fused function that has no rule of its own.

#include "tir/function.h"

namespace tessera::topi {

/// Inlines element-wise stages into what uses them, runs the outer spatial loops of each remaining stage in parallel and
/// vectorises the innermost one where it is long enough. Stages it cannot improve stay as they are.
PrimFunc schedule_default_cpu(const PrimFunc& function);

}  // namespace tessera::topi
