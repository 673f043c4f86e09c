#pragma once
// Stages that read along one axis and write along another, by tiles in shared memory.

#include <optional>

#include "topi/cpu/transpose_tiles.h"
#include "topi/gpu/machine.h"

namespace tessera::topi {

/// Every number is a knob.
struct SharedTransposePlanNode : Object {
  int32_t side = 64;        // elements along both axes
  int32_t threads = 256;    // of a block, which takes one tile
  int32_t read_lanes = 1;   // of a thread's accesses along the axis that is read
  int32_t write_lanes = 1;  // along the one that is written
  static constexpr NodeInfo info{"topi.gpu.SharedTransposePlan", &Object::info};
  static void fields(auto f) {
    f("side", &SharedTransposePlanNode::side);
    f("threads", &SharedTransposePlanNode::threads);
    f("read_lanes", &SharedTransposePlanNode::read_lanes);
    f("write_lanes", &SharedTransposePlanNode::write_lanes);
  }
};
using SharedTransposePlan = Ref<SharedTransposePlanNode>;

/// Empty where axes are too short for tiles, or tiles do not fit shared memory.
SharedTransposePlan plan_shared_transpose(const TransposingStage& stage, const GpuMachine& machine);
/// A ScheduleError where the numbers of a plan do not fit the stage or each other.
void check_shared_transpose(const TransposingStage& stage, const SharedTransposePlan& plan, const GpuMachine& machine);

/// For tiles, each a block of threads: what is read along the other axis goes to shared memory as it lies; then results are
/// computed and written as they lie.
Stmt shared_transpose_nest(const TransposingStage& stage, const SharedTransposePlan& plan);

}  // namespace tessera::topi
