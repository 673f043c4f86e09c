#include "relay/strategy.h"

#include "runtime/registry.h"

namespace tessera::relay {
namespace {

register_types<OpImplementationNode, OpSpecializationNode, OpStrategyNode> strategy_types;

}  // namespace

OpImplementation make_implementation(PackedFunc compute, PackedFunc schedule, String name, int plevel) {
  OpImplementationNode node;
  node.fcompute = std::move(compute);
  node.fschedule = std::move(schedule);
  node.name = std::move(name);
  node.plevel = plevel;
  return make(std::move(node));
}

void add_implementation(const OpStrategy& strategy, PackedFunc compute, PackedFunc schedule, String name, int plevel) {
  te::SpecializedCondition condition = te::current_specialization();
  OpImplementation implementation =
      make_implementation(std::move(compute), std::move(schedule), std::move(name), plevel);
  Array<OpSpecialization>& all = strategy.edit()->specializations;
  for (const OpSpecialization& one : all)
    if (one->condition.same_as(condition)) return one.edit()->implementations.push_back(implementation);
  OpSpecializationNode node;
  node.implementations = {implementation};
  node.condition = condition;
  all.push_back(make(std::move(node)));
}

static Globals strategy_globals{
    {"relay.op._make.OpStrategy", [] { return OpStrategy(make(OpStrategyNode())); }},
    {"relay.op._make.OpImplementation", make_implementation},
    {"relay.op._OpStrategyAddImplementation",
     [](OpStrategy strategy, PackedFunc compute, PackedFunc schedule, String name, int plevel) {
       add_implementation(strategy, compute, schedule, name, plevel);
     }},
};

}  // namespace tessera::relay
