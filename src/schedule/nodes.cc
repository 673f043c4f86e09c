// The node types of schedules.

#include "schedule/auto_tensorize.h"
#include "schedule/state_view.h"

namespace tessera::schedule {
namespace {

register_types<BlockRVNode, LoopRVNode, InstructionKindNode, InstructionNode, TraceNode, ScheduleNode, StmtSRefNode,
               DependencyNode, BlockScopeNode, ScheduleStateNode, AutoTensorizeMappingInfoNode>
    types;

}  // namespace
}  // namespace tessera::schedule
