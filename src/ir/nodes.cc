// The node types of this room.

#include "ir/adt.h"
#include "ir/attrs.h"
#include "ir/diagnostic.h"
#include "ir/module.h"
#include "ir/pass/pass.h"
#include "ir/prim/expr.h"
#include "ir/tensor_type.h"
#include "ir/type_relation.h"

namespace tessera {
namespace {

register_types<SourceNameNode, SpanNode, TextSpan, SourceNode, SourceMapNode, BaseExprNode, PrimExprNode, RelayExprNode,
               GlobalVarNode, IntImm, FloatImm, StringImm, RangeNode, OpNode, AttrsNode, AttrFieldInfoNode,
               DictAttrsNode, BaseFuncNode, IRModuleNode>
    common;

register_types<TypeNode, PrimType, PointerType, TupleType, FuncType, TypeVarNode, GlobalTypeVarNode, TypeCall,
               IncompleteType, RefType, TypeConstraintNode, TypeRelation, TensorTypeNode, ConstructorNode, TypeDataNode>
    node_types;

register_types<VarNode, SizeVarNode, AnyDim, Cast, BinaryNode, Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max,
               EQ, NE, LT, LE, GT, GE, And, Or, Not, Select, Ramp, Broadcast, Shuffle, Call, Let>
    prim_exprs;

register_types<PassInfoNode, PassInstrumentNode, PassContextNode, PassNode, ModulePassNode, SequentialNode> passes;

}  // namespace
}  // namespace tessera
