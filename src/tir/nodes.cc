// The node types of this room.

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

}  // namespace
}  // namespace tessera
