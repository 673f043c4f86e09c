#include "kernel/schedule_kernel.h"

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

PrimFunc schedule_kernel(const Workload& workload, const CompileEnvironment& environment, const std::string& name) {
  require_group_rule(workload, environment);
  Subject subject{.environment = environment, .kernel = name, .workload = &workload};
  ICHECK(apply_cheapest(schedule_rules(), RuleScope::Kernel, subject)) << "programs of blocks fit any kernel";
  std::string rules;
  for (const std::string& rule : subject.chosen.rules) rules += (rules.empty() ? "" : ", ") + rule;
  PrimFunc out = with_attr(subject.scheduled, kScheduleRule, String(rules));
  const std::vector<std::string>& plans = subject.chosen.plans;
  return plans.empty() ? out : with_attr(out, kSchedulePlans, Array<String>(plans.begin(), plans.end()));
}

}  // namespace tessera::kernel
