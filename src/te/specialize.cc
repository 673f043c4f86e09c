// Conditions that a schedule may be specialised for: a stack of them, entered and left by `with`.

#include "runtime/registry.h"
#include "te/schedule.h"

namespace tessera::te {
namespace {

struct SpecializedConditionNode : Object {
  Array<PrimExpr> clauses;
  static constexpr NodeInfo info{"SpecializedCondition", &Object::info};
  static void fields(auto f) { f("clauses", &SpecializedConditionNode::clauses); }
};
using SpecializedCondition = Ref<SpecializedConditionNode>;
register_types<SpecializedConditionNode> types;

std::vector<SpecializedCondition>& entered() {
  thread_local std::vector<SpecializedCondition> stack;
  return stack;
}

Globals globals{
    {"te.CreateSpecializedCondition",
     [](Array<PrimExpr> clauses) {
       SpecializedConditionNode node;
       node.clauses = clauses;
       return SpecializedCondition(make(std::move(node)));
     }},
    {"te.GetCurrentSpecialization", [] { return entered().empty() ? SpecializedCondition() : entered().back(); }},
    {"te.EnterSpecializationScope", [](SpecializedCondition condition) { entered().push_back(condition); }},
    {"te.ExitSpecializationScope",
     [](SpecializedCondition condition) {
       if (entered().empty() || !entered().back().same_as(condition))
         throw Error(ValueError) << "specialised conditions must be left in the opposite order of entering them";
       entered().pop_back();
     }},
};

}  // namespace
}  // namespace tessera::te
