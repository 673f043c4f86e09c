#include "kernel/schedule_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "kernel/knobs.h"
#include "runtime/registry.h"

namespace tessera::kernel {
namespace {

std::atomic<int64_t> failures{0};

void report(const ScheduleRule& rule, const Subject& subject, const Error& error) {
  ++failures;
  std::string what = error.message();
  what = what.substr(0, what.find('\n'));
  fmt::print(stderr, "warning: the schedule rule {} fits the kernel {} but failed, and the next best is used: {}\n",
             rule.name, subject.kernel.empty() ? "main" : subject.kernel, what);
}

struct Candidate {
  const ScheduleRule* rule = nullptr;
  Plan plan;
  double cost = 0;
};

}  // namespace

void Choices::note(const std::string& rule, const ObjectRef& knobs) {
  if (knobs) plans.push_back(rule + "(" + knobs_text(knobs) + ")");
  if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
}

const std::vector<ScheduleRule>& schedule_rules() {
  static const auto* all = [] {
    auto* out = new std::vector<ScheduleRule>;
    for (const std::vector<ScheduleRule>& rows : {kernel_rules(), cpu_rules(), gpu_rules()})
      out->insert(out->end(), rows.begin(), rows.end());
    std::stable_sort(out->begin(), out->end(),
                     [](const auto& a, const auto& b) { return a.least_cost < b.least_cost; });
    return out;
  }();
  return *all;
}

bool serves(const ScheduleRule& rule, const CompileEnvironment& environment) {
  const std::string wanted = rule.target;
  if (wanted.empty()) return true;
  if (wanted == "cpu") return !environment.is_gpu();
  if (wanted == "gpu") return environment.is_gpu();
  return environment.target && environment.target->kind->name == wanted;
}

bool apply_cheapest(const std::vector<ScheduleRule>& rules, RuleScope scope, Subject& subject) {
  std::vector<const ScheduleRule*> open;  // in order of their least costs
  for (const ScheduleRule& rule : rules)
    if (rule.scope == scope && serves(rule, subject.environment)) open.push_back(&rule);
  std::vector<Candidate> found;
  size_t next = 0;
  for (;;) {
    auto cheapest = [&] {
      return std::min_element(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    };
    while (next < open.size() && (found.empty() || open[next]->least_cost < cheapest()->cost)) {
      const ScheduleRule* rule = open[next++];
      std::optional<Plan> plan = rule->match(subject);
      if (!plan) continue;
      plan->knobs = moved(plan->knobs, rule->name, subject.environment.passes);
      const double cost = rule->cost ? rule->cost(*plan, subject.environment.machine) : rule->least_cost;
      found.push_back({rule, std::move(*plan), cost});
    }
    if (found.empty()) return false;
    auto best = cheapest();
    const size_t noted = subject.chosen.rules.size();
    if (!subject.program) {
      best->rule->apply(subject, best->plan);
      if (subject.chosen.rules.size() == noted) subject.chosen.note(best->rule->name, best->plan.knobs);
      return true;
    }
    schedule::State::Snapshot before = subject.program->state.snapshot();
    try {
      best->rule->apply(subject, best->plan);
      subject.chosen.note(best->rule->name, best->plan.knobs);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ScheduleError) throw;
      subject.program->state.restore(before);
      report(*best->rule, subject, error);
    }
    found.erase(best);
  }
}

int64_t rule_failures() { return failures; }

static Globals schedule_rule_globals{
    {"kernel.rule_failures", rule_failures},
    {"kernel.schedule_rules",
     [] {
       static const char* const scopes[] = {"kernel", "program", "reduction", "stage"};
       Array<Array<String>> out;
       for (const ScheduleRule& rule : schedule_rules())
         out.push_back({String(rule.name), String(rule.target), String(scopes[static_cast<size_t>(rule.scope)])});
       return out;
     }},
};

}  // namespace tessera::kernel
