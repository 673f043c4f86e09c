// Conditions that a schedule may be specialised for: a stack of them, entered and left by `with`.

#include "te/specialize.h"

#include "runtime/registry.h"

namespace tessera::te {
namespace {

register_types<SpecializedConditionNode> specialize_types;

std::vector<SpecializedCondition>& entered() {
  thread_local std::vector<SpecializedCondition> stack;
  return stack;
}

}  // namespace

SpecializedCondition current_specialization() { return entered().empty() ? SpecializedCondition() : entered().back(); }

static Globals specialize_globals{
    {"te.CreateSpecializedCondition",
     [](Array<PrimExpr> clauses) {
       SpecializedConditionNode node;
       node.clauses = clauses;
       return SpecializedCondition(make(std::move(node)));
     }},
    {"te.GetCurrentSpecialization", current_specialization},
    {"te.EnterSpecializationScope", [](SpecializedCondition condition) { entered().push_back(condition); }},
    {"te.ExitSpecializationScope",
     [](SpecializedCondition condition) {
       if (entered().empty() || !entered().back().same_as(condition))
         throw Error(ValueError) << "specialised conditions must be left in the opposite order of entering them";
       entered().pop_back();
     }},
};

}  // namespace tessera::te
