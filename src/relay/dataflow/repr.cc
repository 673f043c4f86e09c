// How dataflow patterns print: CallPatternNode(Op(nn.relu), [*])

#include "ir/repr.h"

#include "relay/dataflow/pattern.h"

namespace tessera::relay {
namespace {

/// Name(`pattern` has `what` `value`)
template <class Value>
void print_with(ReprPrinter& p, const char* name, const DFPattern& pattern, const char* what, const Value& value) {
  p << name << "(" << pattern << " has " << what << " " << value << ")";
}

ReprRows dataflow_patterns{
    [](ReprPrinter& p, const ExprPattern* e) { p << e->expr; },
    [](ReprPrinter& p, const VarPattern* e) { p << "VarPattern(" << e->name.str() << ")"; },
    [](ReprPrinter& p, const ConstantPattern*) { p << "ConstantPattern()"; },
    [](ReprPrinter& p, const CallPattern* e) { p << "CallPatternNode(" << e->op << ", " << e->args << ")"; },
    [](ReprPrinter& p, const FunctionPattern* e) {
      p << "FunctionPatternNode(" << e->params << ", " << e->body << ")";
    },
    [](ReprPrinter& p, const LetPattern* e) {
      p << "LetPatternNode(" << e->var << ", " << e->value << ", " << e->body << ")";
    },
    [](ReprPrinter& p, const IfPattern* e) {
      p << "IfPattern(" << e->cond << ", " << e->true_branch << ", " << e->false_branch << ")";
    },
    [](ReprPrinter& p, const TuplePattern* e) { p << "TuplePattern(" << e->fields_ << ")"; },
    [](ReprPrinter& p, const TupleGetItemPattern* e) {
      p << "TupleGetItemPatternNode(" << e->tuple << ", " << e->index << ")";
    },
    [](ReprPrinter& p, const AltPattern* e) { p << "AltPattern(" << e->left << " | " << e->right << ")"; },
    [](ReprPrinter& p, const WildcardPattern*) { p << "*"; },
    [](ReprPrinter& p, const TypePattern* e) { print_with(p, "TypePattern", e->pattern, "type", e->wanted); },
    [](ReprPrinter& p, const ShapePattern* e) { print_with(p, "ShapePattern", e->pattern, "shape", e->shape); },
    [](ReprPrinter& p, const DataTypePattern* e) {
      print_with(p, "DataTypePattern", e->pattern, "dtype", std::string_view(e->dtype.str()));
    },
    [](ReprPrinter& p, const AttrPattern* e) { print_with(p, "AttrPattern", e->pattern, "attributes", e->attrs); },
    [](ReprPrinter& p, const DominatorPattern* e) {
      p << "DominatorPattern(" << e->parent << ", " << e->path << ", " << e->child << ")";
    },
};

}  // namespace
}  // namespace tessera::relay
