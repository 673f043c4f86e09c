#include "runtime/registry.h"
#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/pieces.h"

namespace tessera::meta_schedule {

void log(const TuneContextNode& context, Level level, const std::string& message) {
  if (context.logger.defined()) context.logger(static_cast<int>(level), String(message));
}

namespace {

void initialize(const TuneContext& self) {
  const TuneContextNode& context = *self;
  if (context.space_generator) context.space_generator->methods->initialize(*context.space_generator.edit(), context);
  if (context.search_strategy) context.search_strategy->methods->initialize(*context.search_strategy.edit(), self);
  for (const ScheduleRule& rule : context.sch_rules) rule->methods->initialize(*rule.edit(), context);
  for (const Postproc& postproc : context.postprocs) postproc->methods->initialize(*postproc.edit(), context);
  for (const auto& [mutator, probability] : context.mutator_probs)
    mutator->methods->initialize(*mutator.edit(), context);
}

/// Pieces keep what they learn of a context, so that each context has its own.
TuneContext clone_context(const TuneContext& self) {
  TuneContextNode out(*self);
  if (out.space_generator) out.space_generator = out.space_generator->methods->clone(*out.space_generator);
  if (out.search_strategy) out.search_strategy = out.search_strategy->methods->clone(*out.search_strategy);
  Array<ScheduleRule> rules;
  for (const ScheduleRule& each : out.sch_rules) rules.push_back(each->methods->clone(*each));
  Array<Postproc> postprocs;
  for (const Postproc& each : out.postprocs) postprocs.push_back(each->methods->clone(*each));
  Map<Mutator, ObjectRef> mutators;
  for (const auto& [each, probability] : out.mutator_probs) mutators.set(each->methods->clone(*each), probability);
  out.sch_rules = rules;
  out.postprocs = postprocs;
  out.mutator_probs = mutators;
  out.rand_state = schedule::Random::state_of_seed(schedule::Random(&self.edit()->rand_state).fork());
  TuneContext copy = make(std::move(out));
  initialize(copy);
  return copy;
}

Globals context_globals{
    {"meta_schedule.TuneContext",
     [](const IRModule& mod, const Target& target, const SpaceGenerator& space, const SearchStrategy& strategy,
        const Array<ScheduleRule>& rules, const Array<Postproc>& postprocs, const Map<Mutator, ObjectRef>& mutators,
        const String& task_name, const PackedFunc& logger, int64_t seed, int num_threads) {
       TuneContextNode node;
       node.mod = mod;
       node.target = target;
       node.space_generator = space;
       node.search_strategy = strategy;
       if (rules.defined()) node.sch_rules = rules;
       if (postprocs.defined()) node.postprocs = postprocs;
       if (mutators.defined()) node.mutator_probs = mutators;
       node.task_name = task_name;
       node.logger = logger;
       node.rand_state = schedule::Random::state_of_seed(seed);
       node.num_threads = std::max(1, num_threads);
       TuneContext self = make(std::move(node));
       initialize(self);
       return self;
     }},
    {"meta_schedule.TuneContextInitialize", initialize},
    {"meta_schedule.TuneContextClone", clone_context},
    {"meta_schedule.TuneContextForkSeed",
     [](const TuneContext& self) { return schedule::Random(&self.edit()->rand_state).fork(); }},
};

}  // namespace
}  // namespace tessera::meta_schedule
