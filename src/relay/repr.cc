// The plain form of Relay's nodes, for `repr(x)` and messages: CallNode(Op(add), [Var(x, ty=...)], (nullptr), []).

#include "ir/repr.h"

#include "relay/pattern.h"

namespace tessera::relay {
namespace {

std::string tensor_text(const NDArray& data) { return describe(data.tensor()); }

ReprRows expressions{
    [](ReprPrinter& p, const Constant* e) { p << "Constant(" << tensor_text(e->data) << ")"; },
    [](ReprPrinter& p, const Tuple* e) { p << "Tuple(" << e->fields_ << ")"; },
    [](ReprPrinter& p, const VarNode* e) {
      p << "Var(" << e->name_hint().str();
      if (e->type_annotation) p << ", ty=" << e->type_annotation;
      p << ")";
    },
    [](ReprPrinter& p, const Call* e) {
      p << "CallNode(" << e->op << ", " << e->args << ", " << e->attrs << ", " << e->type_args << ")";
    },
    [](ReprPrinter& p, const Let* e) { p << "LetNode(" << e->var << ", " << e->value << ", " << e->body << ")"; },
    [](ReprPrinter& p, const If* e) {
      p << "IfNode(" << e->cond << ", " << e->true_branch << ", " << e->false_branch << ")";
    },
    [](ReprPrinter& p, const TupleGetItem* e) { p << "TupleGetItemNode(" << e->tuple << ", " << e->index << ")"; },
    [](ReprPrinter& p, const RefCreate* e) { p << "RefCreateNode(" << e->value << ")"; },
    [](ReprPrinter& p, const RefRead* e) { p << "RefReadNode(" << e->ref << ")"; },
    [](ReprPrinter& p, const RefWrite* e) { p << "RefWriteNode(" << e->ref << ", " << e->value << ")"; },
    [](ReprPrinter& p, const FunctionNode* e) {
      p << "FunctionNode(" << e->params << ", " << e->ret_type << ", " << e->body << ", " << e->type_params << ", "
        << e->attrs << ")";
    },
    [](ReprPrinter& p, const Match* e) { p << "MatchNode(" << e->data << ", " << e->clauses << ")"; },
    [](ReprPrinter& p, const ClauseNode* e) { p << "ClauseNode(" << e->lhs << ", " << e->rhs << ")"; },
    [](ReprPrinter& p, const PatternWildcard*) { p << "PatternWildcardNode()"; },
    [](ReprPrinter& p, const PatternVar* e) { p << "PatternVarNode(" << e->var << ")"; },
    [](ReprPrinter& p, const PatternConstructor* e) {
      p << "PatternConstructorNode(" << e->constructor << ", " << e->patterns << ")";
    },
    [](ReprPrinter& p, const PatternTuple* e) { p << "PatternTupleNode(" << e->patterns << ")"; },
};

ReprRows types{
    [](ReprPrinter& p, const TensorTypeNode* t) { p << "TensorType(" << t->shape << ", " << t->dtype.str() << ")"; },
    [](ReprPrinter& p, const TypeVarNode* t) {
      p << "TypeVar(" << t->name_hint.str() << ", " << static_cast<int32_t>(t->kind) << ")";
    },
    [](ReprPrinter& p, const GlobalTypeVarNode* t) {
      p << "GlobalTypeVar(" << t->name_hint.str() << ", " << static_cast<int32_t>(t->kind) << ")";
    },
    [](ReprPrinter& p, const TypeCall* t) { p << "TypeCallNode(" << t->func << ", " << t->args << ")"; },
    [](ReprPrinter& p, const IncompleteType* t) {
      p << "IncompleteTypeNode(" << static_cast<int32_t>(t->kind) << ", " << address_text(t) << ")";
    },
    [](ReprPrinter& p, const RefType* t) { p << "RelayRefTypeNode(" << t->value << ")"; },
    [](ReprPrinter& p, const ConstructorNode* c) {
      p << "ConstructorNode(" << c->name_hint.str() << ", " << c->inputs << ", " << c->belong_to << ")";
    },
    [](ReprPrinter& p, const TypeDataNode* t) {
      p << "TypeDataNode(" << t->header << ", " << t->type_vars << ", " << t->constructors << ")";
    },
};

}  // namespace
}  // namespace tessera::relay
