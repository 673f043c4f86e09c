#pragma once
// How far apart the lanes of an index are, where that is known when the program is compiled.

#include <optional>
#include <vector>

#include "ir/prim_expr.h"

namespace tessera::codegen {

/// Lane i of an index is `base + offsets[i]`.
struct LaneOffsets {
  PrimExpr base;
  std::vector<int64_t> offsets;
};

/// Nothing where a lane's distance from the others is not a known number.
std::optional<LaneOffsets> lane_offsets(const PrimExpr& index);

}  // namespace tessera::codegen
