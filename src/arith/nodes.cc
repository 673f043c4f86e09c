// The node types of this room, and their text.

#include "arith/nodes.h"

#include "arith/int_set.h"
#include "ir/repr.h"

namespace tessera::arith {
namespace {

register_types<ConstIntBoundNode, ModularSetNode, IntSetNode, IntervalSetNode> types;

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
};

}  // namespace
}  // namespace tessera::arith
