// The node types of schedules.

#include "schedule/state_view.h"
#include "schedule/tensorize/auto_tensorize.h"

namespace tessera::schedule {
namespace {

register_types<BlockRVNode, LoopRVNode, InstructionKindNode, InstructionNode, TraceNode, ScheduleNode, StmtSRefNode,
               DependencyNode, BlockScopeNode, ScheduleStateNode, AutoTensorizeMappingInfoNode>
    node_types;

}  // namespace
}  // namespace tessera::schedule
