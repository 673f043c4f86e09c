// The node types of this room, and their text.

#include "arith/nodes.h"

#include "arith/int_set.h"
#include "arith/iter_map/iter_map.h"
#include "arith/solve/int_solver.h"
#include "ir/repr.h"

namespace tessera::arith {
namespace {

register_types<ConstIntBoundNode, ModularSetNode, IntSetNode, IntervalSetNode, IterMapExprNode, IterMarkNode,
               IterSplitExprNode, IterSumExprNode, IterMapResultNode, IntGroupBoundsNode, IntConstraintsNode,
               IntConstraintsTransformNode>
    node_types;

void print_bound(ReprPrinter& p, int64_t v) {
  if (v >= kPosInf) p << "pos_inf";
  else if (v <= kNegInf) p << "neg_inf";
  else p << v;
}

ReprRows rows{
    [](ReprPrinter& p, const ConstIntBoundNode* node) {
      p << "ConstIntBound[";
      print_bound(p, node->min_value);
      p << ",";
      print_bound(p, node->max_value);
      p << "]";
    },
    [](ReprPrinter& p, const ModularSetNode* node) {
      p << "ModularSet(coeff=" << node->coeff << ", base=" << node->base << ")";
    },
    [](ReprPrinter& p, const IntervalSetNode* node) {
      p << "IntervalSet[" << node->min_value << ", " << node->max_value << "]";
    },
    [](ReprPrinter& p, const IterMarkNode* node) {
      p << "IterMark(" << node->source << ", extent=" << node->extent << ")";
    },
    [](ReprPrinter& p, const IterSplitExprNode* node) {
      p << "IterSplit(" << node->source << ", lower_factor=" << node->lower_factor << ", extent=" << node->extent
        << ", scale=" << node->scale << ")";
    },
    [](ReprPrinter& p, const IterSumExprNode* node) { p << "IterSum(" << node->args << ", " << node->base << ")"; },
    [](ReprPrinter& p, const IntGroupBoundsNode* node) {
      p << "IntGroupBounds(coef=" << node->coef << ", lower=" << node->lower << ", equal=" << node->equal
        << ", upper=" << node->upper << ")";
    },
    [](ReprPrinter& p, const IntConstraintsNode* node) {
      p << "IntConstraints(" << node->variables << ", " << node->ranges << ", " << node->relations << ")";
    },
    [](ReprPrinter& p, const IntConstraintsTransformNode* node) {
      p << "IntConstraintsTransform(" << "\n\t" << node->src << "\n\t" << node->dst << "\n\t" << node->src_to_dst
        << "\n\t" << node->dst_to_src << "\n)";
    },
};

}  // namespace
}  // namespace tessera::arith
