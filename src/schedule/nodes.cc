// The node types of schedules.

#include "schedule/schedule.h"

namespace tessera::schedule {
namespace {

register_types<BlockRVNode, LoopRVNode, InstructionKindNode, InstructionNode, TraceNode, ScheduleNode> types;

}  // namespace
}  // namespace tessera::schedule
