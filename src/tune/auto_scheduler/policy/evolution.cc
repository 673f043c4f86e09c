// Populations: states sampled from sketches, and what evolves from them.

#include <algorithm>
#include <atomic>

#include "base/run_tasks.h"
#include "tune/auto_scheduler/policy/draft.h"

namespace tessera::auto_scheduler {
namespace {

constexpr double kImpossible = -1e10;
constexpr size_t kSampleBatch = 64;  // sketches that are sampled at once

/// Positions of random numbers by their cumulated weights.
size_t choose_weighted(const std::vector<double>& sums, Random* random) {
  std::uniform_real_distribution<double> uniform(0.0, sums.back());
  const auto at = std::lower_bound(sums.begin(), sums.end(), uniform(*random));
  return std::min(static_cast<size_t>(at - sums.begin()), sums.size() - 1);
}

/// Each state changed on its own, on all cores; the same whatever their number, since each has random numbers of its own.
template <class F>
std::vector<State> change_all(Random* random, size_t count, F change) {
  std::vector<uint64_t> seeds(count);
  for (uint64_t& seed : seeds) seed = (*random)();
  std::vector<State> out(count);
  run_tasks(count, compile_threads(), [&](size_t i) {
    Random own(seeds[i]);
    try {
      State state;
      if (change(&state, &own)) out[i] = state;
    } catch (const std::exception&) {  // a state that cannot be: the caller takes others
    }
  });
  std::erase_if(out, [](const State& state) { return !state; });
  return out;
}

bool fits_gpu(const SearchTask& task, const State& state) {
  if (!task->is_gpu()) return true;
  for (const Stage& stage : state->stages)
    for (const Iterator& iter : stage->iters) {
      const int64_t extent = extent_of(iter);
      if (iter->annotation == Annotation::ThreadX && extent > task->hardware_params->max_threads_per_block)
        return false;
      if (iter->annotation == Annotation::VThread && extent > task->hardware_params->max_vthread_extent) return false;
    }
  return true;
}

/// Bounds for all; those that have none are left out.
std::vector<State> possible(const SketchPolicyNode& policy, const std::vector<State>& states) {
  std::vector<State> out = infer_bounds(policy.dag(), states);
  std::erase_if(out, [&](const State& state) { return !state || !fits_gpu(policy.task, state); });
  return out;
}

}  // namespace

std::vector<State> sample_population(const SketchPolicyNode& policy, const Predict& predict) {
  if (policy.sketches.empty()) policy.sketches = generate_sketches(policy);
  const std::vector<ChangeState> rules = policy.task->is_gpu() ? gpu_sample_rules() : cpu_sample_rules();
  size_t wanted = static_cast<size_t>(std::max(policy.params.sample_init_min_population, 1));
  std::vector<State> out;
  std::unordered_set<std::string> seen;
  for (int failures = 0; out.size() < wanted;) {
    std::vector<State> batch = change_all(&policy.random, kSampleBatch, [&](State* state, Random* random) {
      *state = policy.sketches[choose(random, policy.sketches.size())];
      for (ChangeState rule : rules)
        if (!rule(policy, state, random)) return false;
      return true;
    });
    batch = possible(policy, batch);
    const std::vector<double> scores = batch.empty() ? std::vector<double>() : predict.scores(batch);
    const size_t before = out.size();
    for (size_t i = 0; i < batch.size(); ++i)
      if (scores.at(i) > kImpossible && seen.insert(state_text(batch[i].get())).second) out.push_back(batch[i]);
    // Where little is left to find, less is looked for.
    if (out.size() == before && ++failures % 5 == 0) {
      if (wanted == 1) break;
      wanted /= 2;
    }
  }
  return out;
}

std::vector<State> evolve(const SketchPolicyNode& policy, std::vector<State> population, size_t count,
                          const std::unordered_set<std::string>& measured, const Predict& predict) {
  const std::vector<MutationRule> rules = mutation_rules(policy.task->is_gpu());
  std::vector<double> rule_sums;
  for (const MutationRule& rule : rules) rule_sums.push_back((rule_sums.empty() ? 0 : rule_sums.back()) + rule.weight);
  const int iterations = predict.is_random ? std::min(policy.params.iterations, 2) : policy.params.iterations;
  const size_t size = predict.is_random ? std::min<size_t>(static_cast<size_t>(policy.params.population), count * 4)
                                        : static_cast<size_t>(policy.params.population);
  std::vector<std::pair<double, State>> best;  // the worst first, as a heap
  const auto is_better = [](const auto& a, const auto& b) { return a.first > b.first; };
  std::unordered_set<std::string> known = measured;
  for (int round = 0;; ++round) {
    population = possible(policy, population);
    if (population.empty()) break;
    const std::vector<double> scores = predict.scores(population);
    for (size_t i = 0; i < population.size(); ++i) {
      if (scores.at(i) <= kImpossible) continue;
      if (best.size() == count && scores[i] <= best.front().first) continue;
      if (!known.insert(state_text(population[i].get())).second) continue;
      if (best.size() == count) {
        std::pop_heap(best.begin(), best.end(), is_better);
        best.pop_back();
      }
      best.emplace_back(scores[i], population[i]);
      std::push_heap(best.begin(), best.end(), is_better);
    }
    if (round >= iterations) break;
    std::vector<double> sums;
    for (double score : scores) sums.push_back((sums.empty() ? 0 : sums.back()) + std::max(score, 0.0) + 1e-9);
    population = change_all(&policy.random, size, [&](State* state, Random* random) {
      *state = population[choose_weighted(sums, random)];
      std::uniform_real_distribution<double> uniform;
      if (uniform(*random) >= policy.params.mutation_probability) return true;
      for (int tries = 0; tries < 4; ++tries)
        if (rules[choose_weighted(rule_sums, random)].change(policy, state, random)) return true;
      return false;
    });
  }
  std::sort(best.begin(), best.end(), is_better);
  std::vector<State> out;
  for (auto& [score, state] : best) out.push_back(std::move(state));
  return out;
}

}  // namespace tessera::auto_scheduler
