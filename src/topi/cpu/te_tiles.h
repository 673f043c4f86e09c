#pragma once
// TE schedules of programs with reductions for CPUs: sums in registers, rows that stay together.

#include "te/schedule.h"
#include "topi/cpu/machine.h"

namespace tessera::topi {

/// True where a stage is worth its memory although it could be put into what reads it: what several stages would compute again
/// at a cost, and borders around what a reduction reads, which would be asked for at each step.
bool keeps_memory(const te::Schedule& sch, const te::Stage& stage);

/// Schedules all stages that are not inlined.
///   A sum is computed in tiles of a few vectors, which stay in registers while the reduction runs:
///     for tile (parallel): for k: for i, j in tile: sums[i, j] += ...;  for i, j in tile: C[i, j] = epilogue(sums[i, j])
///   Where its operands lie along the reduction instead of along the result, the lanes of a vector are partial sums. Reductions of rows
///   that a stage over the same rows reads (softmax) are computed row by row with it.
void schedule_stages_cpu(const te::Schedule& sch, const Machine& machine);

}  // namespace tessera::topi
