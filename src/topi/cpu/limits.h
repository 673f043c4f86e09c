#pragma once
// What schedules of loops for CPUs share.

#include "ir/prim/ops.h"

namespace tessera::topi {

// Below these a second thread costs more than it brings.
constexpr int64_t kParallelElements = 4096;  // that are written
constexpr int64_t kParallelSteps = 1 << 15;  // of reductions

/// As loops count: in 32 bits.
inline PrimExpr number(int64_t value) { return PrimExpr(static_cast<int>(value)); }

}  // namespace tessera::topi
