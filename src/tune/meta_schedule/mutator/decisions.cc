#include "runtime/registry.h"
#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/mutator/mutators.h"
#include "tune/meta_schedule/traced.h"

namespace tessera::meta_schedule {

std::vector<Choice> choices_of(const Trace& trace) {
  std::vector<Choice> out;
  for (const Instruction& inst : schedule::instructions_of(trace, true)) {
    if (!(inst->kind->name == "SampleCategorical")) continue;
    auto* taken = trace->decisions.get_or_null(inst).as<IntImm>();
    auto* probs = inst->attrs.size() == 2 ? inst->attrs[1].as<ArrayNode>() : nullptr;
    if (!taken || !probs || probs->items.size() < 2) continue;
    out.push_back({inst, seconds_of(Array<ObjectRef>(probs)), taken->value});
  }
  return out;
}

std::vector<Choice> choices_noted_as(const Trace& trace, const std::vector<std::string_view>& keys) {
  std::vector<Choice> out;
  for (const Choice& choice : choices_of(trace)) {
    bool is_noted = false;
    for (const Instruction& inst : schedule::instructions_of(trace, true)) {
      if (!(inst->kind->name == "Annotate") || !inst->inputs[1].same_as(choice.inst->outputs[0])) continue;
      auto* key = inst->attrs[0].as<StringNode>();
      for (std::string_view wanted : keys) is_noted |= key && key->text == wanted;
    }
    if (is_noted) out.push_back(choice);
  }
  return out;
}

Trace with_other_choice(const Trace& trace, const Choice& choice, int64_t* random) {
  std::vector<double> weights = choice.weights;
  if (choice.taken >= 0 && choice.taken < static_cast<int64_t>(weights.size()))
    weights[static_cast<size_t>(choice.taken)] = 0;
  int index = schedule::sample_index(random, weights);
  return schedule::trace_with_decision(trace, choice.inst, PrimExpr(index), true);
}

namespace {

Globals decisions_globals{
    {"meta_schedule.MutatorInitializeWithTuneContext",
     [](const Mutator& self, const TuneContext& context) { self->methods->initialize(*self.edit(), *context); }},
    {"meta_schedule.MutatorApply",
     [](const Mutator& self, const Trace& trace, int64_t seed) {
       int64_t random = schedule::Random::state_of_seed(seed);
       return self->methods->apply(*self.edit(), trace, &random);
     }},
    {"meta_schedule.MutatorClone", [](const Mutator& self) { return self->methods->clone(*self); }},
    {"meta_schedule.MutatorMutateTileSize", [] { return Mutator(make(MutateTileSizeNode{})); }},
    {"meta_schedule.MutatorMutateUnroll", [] { return Mutator(make(MutateUnrollNode{})); }},
    {"meta_schedule.MutatorMutateComputeLocation", [] { return Mutator(make(MutateComputeLocationNode{})); }},
    {"meta_schedule.MutatorMutateThreadBinding", [] { return Mutator(make(MutateThreadBindingNode{})); }},
    {"meta_schedule.MutatorMutateParallel",
     [](int64_t jobs) {
       MutateParallelNode mutator;
       mutator.max_jobs_per_core = jobs;
       return Mutator(make(std::move(mutator)));
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule
