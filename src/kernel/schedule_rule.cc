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

/// The rule that the record names next, with its knobs; nothing where the record says nothing about this scope.
std::optional<Candidate> recorded_candidate(const std::vector<const ScheduleRule*>& open, Subject& subject) {
  Choices& chosen = subject.chosen;
  if (chosen.next_recorded >= chosen.recorded.size()) return {};
  const ObjectRef recorded = chosen.recorded[chosen.next_recorded];
  const std::string name = rule_of(recorded).str();
  auto rule = std::find_if(open.begin(), open.end(), [&](const ScheduleRule* each) { return each->name == name; });
  if (rule == open.end()) return {};
  std::optional<Plan> plan = (*rule)->match(subject);
  if (!plan || !plan->knobs) {  // a stage about which nothing is decided, or another one than was recorded
    for (const ScheduleRule* other : open)
      if (other != *rule && other->knobs && other->match(subject))
        throw Error(ScheduleError) << "the rule " << name << " does not fit";
    return {};
  }
  plan->knobs = with_knobs(plan->knobs, (*rule)->name, knobs_of(recorded));
  ++chosen.next_recorded;
  return Candidate{*rule, std::move(*plan), 0};
}

/// Does what the record says. False where it says nothing.
bool apply_recorded(const std::vector<const ScheduleRule*>& open, Subject& subject) {
  const size_t noted = subject.chosen.rules.size();
  std::optional<Candidate> best = recorded_candidate(open, subject);
  if (!best) return false;
  best->rule->apply(subject, best->plan);
  if (subject.program || subject.chosen.rules.size() == noted) subject.chosen.note(best->rule->name, best->plan.knobs);
  return true;
}

/// Writes down which plans fit, the one that is chosen first.
void note_decision(const std::vector<const ScheduleRule*>& open, RuleScope scope, Subject& subject,
                   const Candidate& best) {
  if (!subject.chosen.decisions) return;
  Decision decision{scope, {}};
  if (best.plan.knobs) decision.plans.emplace_back(best.rule, best.plan.knobs);
  for (const ScheduleRule* rule : open) {
    if (rule == best.rule || !rule->knobs) continue;
    std::optional<Plan> plan = rule->match(subject);
    if (plan && plan->knobs) decision.plans.emplace_back(rule, plan->knobs);
  }
  if (best.plan.knobs) subject.chosen.decisions->push_back(std::move(decision));
}

}  // namespace

void Choices::note(const std::string& rule, const ObjectRef& knobs) {
  if (knobs) plans.push_back(rule + "(" + knobs_text(knobs) + ")");
  if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(rule);
}

const std::vector<ScheduleRule>& schedule_rules() {
  static const auto* all = [] {
    auto* out = new std::vector<ScheduleRule>;
    for (const std::vector<ScheduleRule>& rows : {kernel_rules(), vendor_rules(), cpu_rules(), gpu_rules()})
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
  if (apply_recorded(open, subject)) return true;
  if (scope == RuleScope::Program && !subject.chosen.recorded.empty()) return false;  // it was decided stage by stage
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
    note_decision(open, scope, subject, *best);
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
      if (subject.chosen.decisions && best->plan.knobs) subject.chosen.decisions->pop_back();
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
