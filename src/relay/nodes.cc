// The node types of this room.

#include "relay/pattern.h"
#include "relay/type/affine_type.h"
#include "relay/type/rule.h"

namespace tessera::relay {
namespace {

register_types<Constant, Tuple, IdNode, VarNode, Call, Let, If, TupleGetItem, RefCreate, RefRead, RefWrite,
               TempExprNode, FunctionNode, PatternNode, PatternWildcard, PatternVar, PatternConstructor, PatternTuple,
               ClauseNode, Match, TypeRuleSlot, AffineTypeNode, TensorAffineTypeNode, TupleAffineTypeNode>
    node_types;

}  // namespace
}  // namespace tessera::relay
