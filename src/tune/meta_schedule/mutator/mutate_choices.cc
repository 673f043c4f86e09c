// Mutators of single choices: how much is unrolled, how many threads are bound.

#include <unordered_set>

#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/mutator/mutators.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {
namespace {

Trace with_another_of(const Trace& trace, const std::vector<Choice>& choices, int64_t* random) {
  if (choices.empty()) return {};
  int at = schedule::sample_int(random, 0, static_cast<int>(choices.size()));
  return with_other_choice(trace, choices[static_cast<size_t>(at)], random);
}

}  // namespace

Trace MutateUnrollNode::apply(const Trace& trace, int64_t* random) {
  return with_another_of(trace, choices_noted_as(trace, {note::kUnrollExplicit, note::kUnrollImplicit}), random);
}

/// Choices that split a loop one part of which is bound to threadIdx.x.
Trace MutateThreadBindingNode::apply(const Trace& trace, int64_t* random) {
  std::unordered_set<const Object*> bound;
  for (const Instruction& inst : schedule::instructions_of(trace, true)) {
    auto* axis = inst->kind->name == "Bind" ? inst->attrs[0].as<StringNode>() : nullptr;
    if (axis && axis->text == "threadIdx.x") bound.insert(inst->inputs[0].get());
  }
  std::unordered_set<const Object*> numbers;  // of the threads of bound loops
  for (const Instruction& inst : schedule::instructions_of(trace, true)) {
    if (!(inst->kind->name == "Split")) continue;
    for (size_t i = 0; i < inst->outputs.size(); ++i)
      if (bound.count(inst->outputs[i].get())) numbers.insert(inst->inputs[i + 1].get());
  }
  std::vector<Choice> choices;
  for (const Choice& choice : choices_of(trace))
    if (numbers.count(choice.inst->outputs[0].get())) choices.push_back(choice);
  return with_another_of(trace, choices, random);
}

}  // namespace tessera::meta_schedule
