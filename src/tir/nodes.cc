// The node types of this room.

#include "ir/structural/equal.h"
#include "tir/function.h"

namespace tessera {
namespace {

register_types<BufferNode, BufferLoad, BufferRegionNode, MatchBufferRegionNode, IterVarNode, CommReducerNode, Reduce,
               DataProducerNode, ProducerLoad>
    expressions;

register_types<StmtNode, LetStmt, AttrStmt, AssertStmt, BufferStore, BufferRealize, ProducerStore, ProducerRealize,
               Allocate, AllocateConst, DeclBuffer, SeqStmt, Evaluate, IfThenElse, For, While, Prefetch, BlockNode,
               BlockRealize>
    statements;

register_types<PrimFuncNode> functions;

// How far a thread runs is said by the statement that launches it; its own range may be left out.
[[maybe_unused]] const bool thread_ranges = [] {
  overlooked_fields().push_back({&IterVarNode::info, "dom", [](const Object* node) {
                                   return static_cast<const IterVarNode*>(node)->iter_type == IterType::ThreadIndex;
                                 }});
  return true;
}();

}  // namespace
}  // namespace tessera
