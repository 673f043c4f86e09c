// Rules for the stages of programs on devices with threads.

#include "kernel/schedule_rule.h"
#include "topi/gpu/stage_threads.h"

namespace tessera::kernel {
namespace {

using topi::StageThreads;

std::optional<Plan> matched(bool fits) { return fits ? std::optional<Plan>(true) : std::nullopt; }

/// Whether it fits is seen when it is done, on a copy of the program.
ScheduleRule tried(const char* name, double least_cost, bool (StageThreads::*way)(const schedule::BlockRef&)) {
  return {name,
          "gpu",
          RuleScope::Stage,
          least_cost,
          [way](Subject& subject) {
            schedule::State copy = subject.program->state.copy();
            StageThreads threads(copy, subject.environment.target);
            return matched((threads.*way)(subject.block));
          },
          [way](Subject& subject, const Plan&) {
            StageThreads threads(subject.program->state, subject.environment.target);
            ICHECK((threads.*way)(subject.block)) << "what fits a copy of a program fits the program";
          }};
}

}  // namespace

std::vector<ScheduleRule> gpu_rules() {
  return {
      tried("reduction_across_threads", 0, &StageThreads::across_threads),
      tried("reduction_in_reader", 1, &StageThreads::in_consumer),
      tried("reduction_in_registers", 2, &StageThreads::in_registers),
      {"threads", "gpu", RuleScope::Stage, 3, [](Subject&) { return matched(true); },
       [](Subject& subject, const Plan&) {
         StageThreads(subject.program->state, subject.environment.target).by_elements(subject.block);
       }},
  };
}

}  // namespace tessera::kernel
