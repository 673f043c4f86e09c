#include "kernel/schedule_kernel.h"

#include <fmt/format.h>

#include <cstdio>

#include "kernel/rules/group_rules.h"
#include "kernel/schedule_rule.h"

namespace tessera::kernel {
namespace {

/// Rejects a group that a pass made for a rule that is not there.
void require_group_rule(const Workload& workload, const CompileEnvironment& environment) {
  const std::string wanted = group_name(workload.primitive.get());
  if (wanted.empty() || !environment.machine) return;
  std::string known;
  for (const ScheduleRule& rule : schedule_rules()) {
    if (rule.scope != RuleScope::Kernel) continue;
    if (rule.name == wanted) return;
    known += (known.empty() ? "" : ", ") + std::string(rule.name);
  }
  throw Error(ValueError) << "no schedule rule for kernels is called \"" << wanted << "\"; there are " << known;
}

}  // namespace

PrimFunc schedule_kernel_as(const Workload& workload, const CompileEnvironment& environment, const std::string& name,
                            const KernelChoice& choice) {
  require_group_rule(workload, environment);
  Subject subject{.environment = environment, .kernel = name, .workload = &workload};
  subject.chosen.recorded = choice.recorded;
  subject.chosen.decisions = choice.decisions;
  ICHECK(apply_cheapest(schedule_rules(), RuleScope::Kernel, subject)) << "programs of blocks fit any kernel";
  std::string rules;
  if (subject.chosen.next_recorded < subject.chosen.recorded.size())
    throw Error(ScheduleError) << "nothing is decided by the rule "
                               << rule_of(subject.chosen.recorded[subject.chosen.next_recorded]);
  for (const std::string& rule : subject.chosen.rules) rules += (rules.empty() ? "" : ", ") + rule;
  PrimFunc out = with_attr(subject.scheduled, kScheduleRule, String(rules));
  const std::vector<std::string>& plans = subject.chosen.plans;
  return plans.empty() ? out : with_attr(out, kSchedulePlans, Array<String>(plans.begin(), plans.end()));
}

PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name) {
  RecordedPlans recorded = recorded_plans(workload.primitive, environment);
  if (!recorded.empty()) {
    try {
      return schedule_kernel_as(workload, environment, name, {recorded});
    } catch (const Error& error) {
      const std::string& what = error.message();
      fmt::print(stderr, "warning: a tuning record does not fit the kernel {}, which rules schedule: {}\n", name,
                 what.substr(0, what.find('\n')));
    }
  }
  return schedule_kernel_as(workload, environment, name, {});
}

}  // namespace tessera::kernel
