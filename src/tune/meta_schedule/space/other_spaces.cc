// Design spaces that a function gives, and unions of spaces.

#include "runtime/registry.h"
#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/space/spaces.h"

namespace tessera::meta_schedule {

Array<Schedule> schedules_of(const Any& result, const Schedule& given) {
  if (result.is_null()) return {given};
  if (cast_or_null<ArrayNode>(result.object())) return result.to<Array<Schedule>>();
  return {result.to<Schedule>()};
}

Array<Schedule> ScheduleFnNode::generate(const IRModule& mod) {
  Schedule sch = schedule::make_schedule(mod, schedule::Random(&random).fork() + 1, 0, 0);
  return schedules_of(function(sch), sch);
}

void SpaceGeneratorUnionNode::initialize(const TuneContextNode& context) {
  for (const SpaceGenerator& each : generators) each->methods->initialize(*each.edit(), context);
}

Array<Schedule> SpaceGeneratorUnionNode::generate(const IRModule& mod) {
  Array<Schedule> out;
  for (const SpaceGenerator& each : generators)
    for (const Schedule& sch : each->methods->generate(*each.edit(), mod)) out.push_back(sch);
  return out;
}

namespace {

Globals other_spaces_globals{
    {"meta_schedule.SpaceGeneratorScheduleFn",
     [](const PackedFunc& function) {
       ScheduleFnNode space;
       space.function = function;
       return SpaceGenerator(make(std::move(space)));
     }},
    {"meta_schedule.SpaceGeneratorSpaceGeneratorUnion",
     [](const Array<SpaceGenerator>& generators) {
       SpaceGeneratorUnionNode space;
       space.generators = generators;
       return SpaceGenerator(make(std::move(space)));
     }},
    {"meta_schedule.SpaceGeneratorInitializeWithTuneContext",
     [](const SpaceGenerator& self, const TuneContext& context) { self->methods->initialize(*self.edit(), *context); }},
    {"meta_schedule.SpaceGeneratorGenerateDesignSpace",
     [](const SpaceGenerator& self, const IRModule& mod) { return self->methods->generate(*self.edit(), mod); }},
    {"meta_schedule.SpaceGeneratorClone", [](const SpaceGenerator& self) { return self->methods->clone(*self); }},
};

}  // namespace
}  // namespace tessera::meta_schedule
