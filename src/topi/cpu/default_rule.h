#pragma once
// The schedule of a fused function that has no rule of its own.

#include "ir/target/target.h"
#include "tir/function.h"

namespace tessera::topi {

/// Inlines element-wise stages into what uses them, unless a reduction would compute them again and again; sums up tiles of
/// reductions in registers (tile_reduction.h) where the target is known; runs the outer spatial loops of each remaining
/// stage in parallel and vectorises the innermost one where it is long enough. Stages it cannot improve stay as they are.
PrimFunc schedule_default_cpu(const PrimFunc& function, const Target& target = {});

}  // namespace tessera::topi
