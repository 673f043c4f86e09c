// The search policy for other languages.

#include "runtime/registry.h"
#include "tune/auto_scheduler/policy/sketch.h"

namespace tessera::auto_scheduler {
namespace {

int64_t int_of(const Map<String, ObjectRef>& params, const char* name, int64_t otherwise) {
  ObjectRef value = params.get_or_null(name);
  int64_t out = otherwise;
  double real = 0;
  if (value && !number_boxes.unbox_int(value.get(), &out)) {
    if (!number_boxes.unbox_float(value.get(), &real))
      throw Error(TypeError) << "the search parameter " << name << " is a number";
    out = static_cast<int64_t>(real);
  }
  return out;
}

std::string text_of(const Map<String, ObjectRef>& params, const char* name, const std::string& otherwise) {
  ObjectRef value = params.get_or_null(name);
  if (!value) return otherwise;
  auto* text = value.as<StringNode>();
  if (!text) throw Error(TypeError) << "the search parameter " << name << " is a text";
  return text->text;
}

SketchPolicy make_policy(SearchTask task, Map<String, ObjectRef> params, int64_t seed, Array<ObjectRef> conditions,
                         Array<ObjectRef> applications) {
  SketchPolicyNode node;
  node.task = task;
  node.random.seed(static_cast<uint64_t>(seed));
  SearchParams& p = node.params;
  auto number = [&](const char* name, int otherwise) { return static_cast<int>(int_of(params, name, otherwise)); };
  p.sample_init_min_population = number("sample_init_min_population", p.sample_init_min_population);
  p.population = number("evolutionary_search_population", p.population);
  p.iterations = number("evolutionary_search_num_iters", p.iterations);
  p.max_innermost_split_factor = number("max_innermost_split_factor", p.max_innermost_split_factor);
  p.max_vectorize_size = number("max_vectorize_size", p.max_vectorize_size);
  p.disable_change_compute_location = number("disable_change_compute_location", 0) != 0;
  if (ObjectRef value = params.get_or_null("evolutionary_search_mutation_prob"))
    number_boxes.unbox_float(value.get(), &p.mutation_probability);
  p.cpu_tiling = text_of(params, "cpu_multi_level_tiling_structure", p.cpu_tiling);
  p.gpu_tiling = text_of(params, "gpu_multi_level_tiling_structure", p.gpu_tiling);
  for (size_t i = 0; i < conditions.size(); ++i)
    node.custom_rules.push_back({downcast<PackedFunc>(conditions[i]), downcast<PackedFunc>(applications[i])});
  return make(std::move(node));
}

Predict predict_by(const PackedFunc& model, bool is_random) {
  auto scores = [model](const std::vector<State>& states) {
    std::vector<double> out;
    Any scores = model(Array<State>(states.begin(), states.end()));
    auto* list = cast_or_null<ArrayNode>(scores.object());
    if (!list || list->items.size() != states.size())
      throw Error(ValueError) << "auto_scheduler: a cost model gives one score for each state";
    for (const ObjectRef& item : list->items) {
      double score = 0;
      if (!number_boxes.unbox_float(item.get(), &score))
        throw Error(TypeError) << "auto_scheduler: a score is a number";
      out.push_back(score);
    }
    return out;
  };
  return {scores, is_random};
}

Array<State> list_of_states(const std::vector<State>& states) { return {states.begin(), states.end()}; }

Globals policy_globals{
    {"auto_scheduler.SketchPolicy", make_policy},
    {"auto_scheduler.SketchPolicyGenerateSketches",
     [](SketchPolicy policy) {
       policy->sketches = generate_sketches(*policy);
       return list_of_states(policy->sketches);
     }},
    {"auto_scheduler.SketchPolicyPlannedStates",
     [](SketchPolicy policy) { return list_of_states(planned_states(*policy)); }},
    {"auto_scheduler.SketchPolicySampleInitialPopulation",
     [](SketchPolicy policy, PackedFunc model, bool is_random) {
       return list_of_states(sample_population(*policy, predict_by(model, is_random)));
     }},
    {"auto_scheduler.SketchPolicyEvolutionarySearch",
     [](SketchPolicy policy, Array<State> population, int64_t count, Array<String> measured, PackedFunc model,
        bool is_random) {
       std::unordered_set<std::string> known;
       for (const String& text : measured) known.insert(text.str());
       return list_of_states(evolve(*policy, population.vec(), static_cast<size_t>(std::max<int64_t>(count, 0)), known,
                                    predict_by(model, is_random)));
     }},
    {"auto_scheduler.InferBounds",
     [](ComputeDAG dag, Array<State> states) {
       Array<ObjectRef> out;
       for (const State& state : infer_bounds(dag.get(), states.vec())) out.push_back(state);
       return out;
     }},
};

register_types<SketchPolicyNode> policy_types;

}  // namespace
}  // namespace tessera::auto_scheduler
