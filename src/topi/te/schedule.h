#pragma once
// TE schedules that fit any program of tensors: what topi's schedule functions give for CPUs and GPUs. Models are
// compiled by the rules of kernel/schedule_rule.h, which see more.

#include "ir/target/target.h"
#include "te/schedule.h"

namespace tessera::topi {

/// Puts all that is not reduced, nor an output, nor read by a statement of the user's own into what reads it; the rest
/// is left as plain loops.
te::Schedule schedule_inlined(const Array<te::Tensor>& outs);
/// The same, scheduled for a target, as cpu/te_tiles.h and gpu/te_tiles.h say; on a CPU what is costly is not computed twice.
te::Schedule schedule_for(const Array<te::Tensor>& outs, const Target& target);

/// Schedules the loops of one stage in the same way.
void schedule_stage_cpu(const te::Stage& stage);
void schedule_stage_gpu(const te::Stage& stage, int64_t threads);

}  // namespace tessera::topi
