#pragma once
// Conditions that a schedule may be specialised for.

#include "ir/prim/expr.h"

namespace tessera::te {

/// Clauses that all hold where this is in force (`with te.SpecializedCondition(...)`).
struct SpecializedConditionNode : Object {
  Array<PrimExpr> clauses;
  static constexpr NodeInfo info{"SpecializedCondition", &Object::info};
  static void fields(auto f) { f("clauses", &SpecializedConditionNode::clauses); }
};
using SpecializedCondition = Ref<SpecializedConditionNode>;

/// The innermost condition that this thread has entered, or an empty reference.
SpecializedCondition current_specialization();

}  // namespace tessera::te
