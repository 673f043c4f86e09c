// The node types of schedules.

#include "schedule/state_view.h"

namespace tessera::schedule {
namespace {

register_types<BlockRVNode, LoopRVNode, InstructionKindNode, InstructionNode, TraceNode, ScheduleNode, StmtSRefNode,
               DependencyNode, BlockScopeNode, ScheduleStateNode>
    types;

}  // namespace
}  // namespace tessera::schedule
