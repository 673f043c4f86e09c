#pragma once
// Relations between types as nodes, for those who make operators' types by hand.

#include "ir/attrs.h"
#include "ir/type.h"

namespace tessera {

/// `func` must succeed on `args`; the first `num_inputs` of them are given, the others follow from those.
struct TypeRelation : TypeConstraintNode {
  ObjectRef func;
  Array<Type> args;
  int32_t num_inputs = 0;
  Attrs attrs;
  static constexpr NodeInfo info{"TypeRelation", &TypeConstraintNode::info};
  static void fields(auto f) {
    f("func", &TypeRelation::func, Optional);
    f("args", &TypeRelation::args);
    f("num_inputs", &TypeRelation::num_inputs);
    f("attrs", &TypeRelation::attrs, Optional);
  }
};

}  // namespace tessera
