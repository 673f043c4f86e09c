#pragma once
// Dot products of rows: both factors lie together in memory along the axis that is summed up.

#include "topi/cpu/machine.h"
#include "topi/cpu/reduction_block.h"

namespace tessera::topi {

/// Results of a tile: of one axis before the last, and of the last; divisors of both, but for dynamic ones.
struct DotKnobsNode : Object {
  int32_t rows = 1, columns = 1;
  static constexpr NodeInfo info{"topi.cpu.DotKnobs", &Object::info};
  static void fields(auto f) {
    f("rows", &DotKnobsNode::rows);
    f("columns", &DotKnobsNode::columns);
  }
};
using DotKnobs = Ref<DotKnobsNode>;

/// Schedules a reduction whose last reduce axis lies together in memory in all it reads, such as a matmul with a
/// transposed matrix, and its element-wise epilogue, if there is one:
///   for tiles, in parallel:  sums = 0;  for k by vectors: sums[i, j, lane] += a[i, k] * b[j, k];  store(sum of lanes)
struct DotPlan {
  Reduction reduction;
  int64_t lanes = 1;  // of the last axis that is summed up
  std::optional<size_t> row_axis;
  DotKnobs knobs;
};
/// Nothing where the reduction has no such form.
std::optional<DotPlan> plan_dot(const schedule::State& state, const schedule::BlockRef& block, const Machine& machine);
/// A ScheduleError, and nothing is changed, where it cannot be.
void tile_dot(schedule::State& state, const schedule::BlockRef& block, const DotPlan& plan);

}  // namespace tessera::topi
