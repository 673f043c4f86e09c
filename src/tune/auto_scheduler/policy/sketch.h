#pragma once
// The search policy: sketches by rules, states sampled from sketches, evolution. Scores come from a cost model that is handed in.

#include <random>
#include <string>
#include <unordered_set>

#include "runtime/packed_func.h"
#include "tune/auto_scheduler/search_task.h"

namespace tessera::auto_scheduler {

using Random = std::mt19937_64;
/// A number below `count`.
inline size_t choose(Random* random, size_t count) { return static_cast<size_t>((*random)() % count); }

/// Numbers and words that the search goes by; see the defaults of SketchPolicy in Python.
struct SearchParams {
  int sample_init_min_population = 50, population = 2048, iterations = 4;
  double mutation_probability = 0.85;
  std::string cpu_tiling = "SSRSRS", gpu_tiling = "SSSRRSRS";
  int max_innermost_split_factor = 64, max_vectorize_size = 16;
  bool disable_change_compute_location = false;
};

/// A rule of a user's own: a condition (state, stage) and what follows, pairs of a state and the next stage.
struct CustomRule {
  PackedFunc condition, apply;
};

struct SketchPolicyNode : Object {
  SearchTask task;
  SearchParams params;
  std::vector<CustomRule> custom_rules;
  mutable Random random;
  mutable std::vector<State> sketches;
  static constexpr NodeInfo info{"auto_scheduler.SketchPolicyCore", &Object::info, Role::Identity};
  static void fields(auto) {}

  const ComputeDAGNode* dag() const { return task->compute_dag.get(); }
  const std::string& tiling() const { return task->is_gpu() ? params.gpu_tiling : params.cpu_tiling; }
};
using SketchPolicy = Ref<SketchPolicyNode>;

// ---- sketches ----------------------------------------------------------------------------------------------

enum class RuleAnswer { Pass, Apply, ApplyAndSkipRest };
/// States that a rule gives, each with the stage to go on from.
using Derived = std::vector<std::pair<State, int>>;
struct SketchRule {
  const char* name;
  RuleAnswer (*condition)(const SketchPolicyNode&, const State&, int stage);
  Derived (*apply)(const SketchPolicyNode&, const State&, int stage);
};
std::vector<SketchRule> cpu_sketch_rules();
std::vector<SketchRule> gpu_sketch_rules();
/// Rules of both lists.
SketchRule always_inline_rule();
SketchRule simplify_const_tensor_rule();
SketchRule tiling_with_fusion_rule();
SketchRule tiling_rule();
SketchRule skip_rule();
SketchRule cache_write_rule();
/// Rules of states that are planned (planned_states): sums of tiles lie in memory of their own; `copies_panels`: panels of operands too.
std::vector<SketchRule> planned_sketch_rules(bool copies_panels);

std::vector<State> generate_sketches(const SketchPolicyNode& policy, const std::vector<SketchRule>& rules);
std::vector<State> generate_sketches(const SketchPolicyNode& policy);

// ---- states ------------------------------------------------------------------------------------------------

/// One change of a state at random; false where it cannot be done.
using ChangeState = bool (*)(const SketchPolicyNode&, State*, Random*);
std::vector<ChangeState> cpu_sample_rules();
std::vector<ChangeState> gpu_sample_rules();
ChangeState fill_tile_sizes(), change_compute_location(), parallel_loops(), unroll_loops(), vectorize_loops();

struct MutationRule {
  ChangeState change;
  double weight;
};
std::vector<MutationRule> mutation_rules(bool is_gpu);

/// A cost model. Scores of states: higher is better; below -1e10 for what cannot be.
struct Predict {
  std::function<std::vector<double>(const std::vector<State>&)> scores;
  bool is_random = false;  // it draws lots: breeding for long by it is of no use
};
/// States of CPUs that are planned by the cost model of the schedule rules, where a search begins. None where users have rules of their own.
std::vector<State> planned_states(const SketchPolicyNode& policy);
std::vector<State> sample_population(const SketchPolicyNode& policy, const Predict& predict);
std::vector<State> evolve(const SketchPolicyNode& policy, std::vector<State> population, size_t count,
                          const std::unordered_set<std::string>& measured, const Predict& predict);

/// Ways to write `extent` as `parts` + 1 lengths, without the first; the last at most `max_innermost`.
const std::vector<std::vector<int64_t>>& factorizations(int64_t extent, size_t parts, int64_t max_innermost);
std::vector<int64_t> divisors(int64_t value);

}  // namespace tessera::auto_scheduler
