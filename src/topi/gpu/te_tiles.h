#pragma once
// TE schedules of programs with reductions for GPUs: products from tiles in shared memory, sums across threads.

#include "te/schedule.h"

namespace tessera::topi {

/// Schedules all stages that are not inlined, each root stage as one kernel of blocks of at most `threads` threads.
///   A reduction whose operands are used for several results has a tile of the result for each block: tiles of its operands are
///   copied to shared memory, and each thread keeps a few sums in registers.
///   Few results of long reductions, and reductions of rows that a stage over the same rows reads (softmax), are computed by
///   all threads of a block together. All else has a thread for each element.
void schedule_stages_gpu(const te::Schedule& sch, int64_t threads);

}  // namespace tessera::topi
