// Sketches: every way through the rules, from the last stage to the first.

#include "runtime/containers.h"
#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

Derived apply_custom(const CustomRule& rule, const State& state, int stage) {
  Derived out;
  for (const ObjectRef& item : rule.apply(state, stage).to<Array<ObjectRef>>()) {
    auto* pair = item.as<ArrayNode>();
    int64_t next = 0;
    if (!pair || pair->items.size() != 2 || !pair->items[0].as<StateNode>() ||
        !number_boxes.unbox_int(pair->items[1].get(), &next))
      throw Error(TypeError) << "auto_scheduler: a sketch rule gives a list of [state, stage]";
    out.emplace_back(downcast<State>(pair->items[0]), static_cast<int>(next));
  }
  return out;
}

/// Factors of rfactor are chosen later, like those of all other splits: until here they had to be numbers.
State with_open_rfactors(const State& state) {
  StateNode out(*state);
  for (size_t i = 1; i < out.transform_steps.size(); ++i) {
    if (!out.transform_steps[i].as<RfactorStep>()) continue;
    auto* split = out.transform_steps[i - 1].as<SplitStep>();
    if (!split) continue;
    SplitStep open(*split);
    open.lengths = {0};
    out.transform_steps.set(i - 1, make(std::move(open)));
    out.concrete = false;
  }
  return make(std::move(out));
}

constexpr size_t kMaxSketches = 4096;

}  // namespace

std::vector<State> generate_sketches(const SketchPolicyNode& policy) {
  return generate_sketches(policy, policy.task->is_gpu() ? gpu_sketch_rules() : cpu_sketch_rules());
}

std::vector<State> generate_sketches(const SketchPolicyNode& policy, const std::vector<SketchRule>& rules) {
  const State init = policy.dag()->init_state;
  Derived now{{init, static_cast<int>(init->stages.size()) - 1}}, next;
  std::vector<State> out;
  while (!now.empty() && out.size() < kMaxSketches) {
    next.clear();
    for (const auto& [state, stage] : now) {
      if (stage < 0) {
        out.push_back(with_open_rfactors(state));
        continue;
      }
      bool is_done = false;
      for (size_t i = 0; i < policy.custom_rules.size() && !is_done; ++i) {
        const auto answer = static_cast<RuleAnswer>(policy.custom_rules[i].condition(state, stage).to<int>());
        if (answer == RuleAnswer::Pass) continue;
        for (auto& each : apply_custom(policy.custom_rules[i], state, stage)) next.push_back(std::move(each));
        is_done = answer == RuleAnswer::ApplyAndSkipRest;
      }
      for (size_t i = 0; i < rules.size() && !is_done; ++i) {
        const RuleAnswer answer = rules[i].condition(policy, state, stage);
        if (answer == RuleAnswer::Pass) continue;
        for (auto& each : rules[i].apply(policy, state, stage)) next.push_back(std::move(each));
        is_done = answer == RuleAnswer::ApplyAndSkipRest;
      }
    }
    std::swap(now, next);
  }
  return out;
}

}  // namespace tessera::auto_scheduler
