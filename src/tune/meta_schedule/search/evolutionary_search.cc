#include <algorithm>
#include <cmath>

#include "ir/structural/equal.h"
#include "runtime/registry.h"
#include "schedule/trace/sampling.h"
#include "tune/meta_schedule/search/strategies.h"

namespace tessera::meta_schedule {
namespace {

using schedule::Random;
using schedule::sample_index;
using schedule::sample_int;

using Modules = std::unordered_map<int64_t, std::vector<IRModule>>;

bool contains_module(const Modules& modules, int64_t hash, const IRModule& mod) {
  auto found = modules.find(hash);
  return found != modules.end() && std::any_of(found->second.begin(), found->second.end(),
                                               [&](const IRModule& each) { return structural_equal(each, mod); });
}

/// False where an equal one is there already.
bool add_module(Modules* modules, const IRModule& mod) {
  int64_t hash = structural_hash(mod);
  if (contains_module(*modules, hash, mod)) return false;
  (*modules)[hash].push_back(mod);
  return true;
}

std::vector<double> scores_of(const SearchState& state, const std::vector<Schedule>& schedules) {
  if (!state.cost_model) return std::vector<double>(schedules.size(), 1.0);
  Array<ArgInfo> args = args_of(state.context->mod);
  Array<MeasureCandidate> candidates;
  for (const Schedule& sch : schedules) candidates.push_back(make(MeasureCandidateNode{.sch = sch, .args_info = args}));
  std::vector<double> out = state.cost_model->methods->predict(*state.cost_model.edit(), state.context, candidates);
  for (double& score : out) score = std::max(0.0, score);
  return out;
}

std::vector<int64_t> fresh_seeds(int64_t* random, size_t count) {
  std::vector<int64_t> out(count);
  for (int64_t& seed : out) seed = Random(random).fork() + 1;
  return out;
}

std::vector<Schedule> without_empty(std::vector<Schedule> schedules) {
  std::erase_if(schedules, [](const Schedule& sch) { return !sch; });
  return schedules;
}

/// The best schedules that were measured before.
std::vector<Schedule> best_measured(EvolutionarySearchNode& self, size_t count) {
  if (!self.state.database || !self.workload) return {};
  Array<TuningRecord> records =
      self.state.database->methods->top_k(*self.state.database.edit(), self.workload, static_cast<int>(count));
  std::vector<int64_t> seeds = fresh_seeds(&self.state.random, records.size());
  std::vector<Schedule> out(records.size());
  for_each(*self.state.context, records.size(),
           [&](size_t i) { out[i] = replayed(*self.state.context, records[i]->trace, false, seeds[i]); });
  return without_empty(std::move(out));
}

/// Schedules with decisions drawn at random.
std::vector<Schedule> drawn(EvolutionarySearchNode& self, size_t count) {
  std::vector<Trace> traces;
  for (const Schedule& space : self.state.spaces) traces.push_back(schedule::trace_simplified(space->trace, true));
  std::vector<Schedule> out;
  for (int64_t tries = 0; tries < 5 && out.size() < count; ++tries) {
    std::vector<int64_t> seeds = fresh_seeds(&self.state.random, count);
    std::vector<Schedule> found(count);
    for_each(*self.state.context, count, [&](size_t i) {
      int64_t random = Random::state_of_seed(seeds[i]);
      auto at = static_cast<size_t>(sample_int(&random, 0, static_cast<int>(traces.size())));
      found[i] = replayed(*self.state.context, traces[at], true, Random(&random).fork() + 1);
    });
    for (Schedule& sch : without_empty(std::move(found))) out.push_back(std::move(sch));
    if (static_cast<int64_t>(out.size()) >= self.init_min_unmeasured) break;
  }
  return out;
}

Trace mutated(const TuneContextNode& context, const Trace& trace, int64_t* random) {
  std::vector<double> weights;
  std::vector<Mutator> mutators;
  for (const auto& [mutator, probability] : context.mutator_probs) {
    double weight;
    if (!number_boxes.unbox_float(probability.get(), &weight) || weight <= 0) continue;
    mutators.push_back(mutator);
    weights.push_back(weight);
  }
  if (mutators.empty()) return {};
  const Mutator& chosen = mutators[static_cast<size_t>(sample_index(random, weights))];
  return chosen->methods->apply(*chosen.edit(), trace, random);
}

/// How many candidates a round breeds from: many that a blind model cannot tell apart gain nothing.
size_t population_of(EvolutionarySearchNode& self, size_t count) {
  constexpr size_t kBlindShare = 4;  // times what is measured
  const auto most = static_cast<size_t>(self.population_size);
  const CostModel& model = self.state.cost_model;
  const bool is_blind = !model || model->methods->is_blind(*model.edit());
  return is_blind ? std::min(most, kBlindShare * count) : most;
}

/// One generation: parents by how good they are predicted to be, most of them mutated.
std::vector<Schedule> next_generation(EvolutionarySearchNode& self, const std::vector<Schedule>& parents,
                                      const std::vector<double>& scores, size_t count) {
  double total = 0;
  for (double score : scores) total += score;
  std::vector<double> weights = total > 0 ? scores : std::vector<double>(scores.size(), 1.0);
  std::vector<int64_t> seeds = fresh_seeds(&self.state.random, count);
  std::vector<Schedule> out(count);
  for_each(*self.state.context, count, [&](size_t i) {
    int64_t random = Random::state_of_seed(seeds[i]);
    for (int64_t fails = 0; fails <= self.genetic_max_fail_count && !out[i]; ++fails) {
      const Schedule& parent = parents[static_cast<size_t>(sample_index(&random, weights))];
      if (sample_index(&random, {self.genetic_mutate_prob, 1 - self.genetic_mutate_prob}) == 1) {
        out[i] = parent;
        break;
      }
      Trace trace = mutated(*self.state.context, parent->trace, &random);
      if (trace) out[i] = replayed(*self.state.context, trace, false, Random(&random).fork() + 1);
    }
  });
  return without_empty(std::move(out));
}

/// What the cost model says of modules: equal ones are asked about once.
class KnownScores {
 public:
  std::vector<double> of(EvolutionarySearchNode& self, const std::vector<Schedule>& population) {
    std::vector<int64_t> hashes(population.size());
    for_each(*self.state.context, population.size(),
             [&](size_t i) { hashes[i] = structural_hash(population[i]->state.mod()); });
    std::vector<size_t> positions;  // in entries_
    std::vector<Schedule> fresh;
    const size_t known = entries_.size();
    for (size_t i = 0; i < population.size(); ++i) {
      positions.push_back(position_of(hashes[i], population[i]));
      if (entries_.size() > known + fresh.size()) fresh.push_back(population[i]);
    }
    const std::vector<double> predicted = scores_of(self.state, fresh);
    for (size_t i = 0; i < fresh.size(); ++i) entries_[known + i].score = predicted[i];
    std::vector<double> out;
    for (size_t position : positions) out.push_back(entries_[position].score);
    return out;
  }

  /// The most promising that were not measured, best first.
  std::vector<Schedule> best(const EvolutionarySearchNode& self, size_t count) const {
    std::vector<const Entry*> order;
    for (const Entry& each : entries_) order.push_back(&each);
    std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return a->score > b->score; });
    std::vector<Schedule> out;
    for (const Entry* each : order) {
      if (out.size() == count) break;
      if (!contains_module(self.measured, each->hash, each->sch->state.mod())) out.push_back(each->sch);
    }
    return out;
  }

 private:
  struct Entry {
    int64_t hash;
    Schedule sch;
    double score;
  };

  size_t position_of(int64_t hash, const Schedule& sch) {
    std::vector<size_t>& alike = by_hash_[hash];
    for (size_t each : alike)
      if (structural_equal(entries_[each].sch->state.mod(), sch->state.mod())) return each;
    alike.push_back(entries_.size());
    entries_.push_back({hash, sch, 0});
    return alike.back();
  }

  std::vector<Entry> entries_;
  std::unordered_map<int64_t, std::vector<size_t>> by_hash_;
};

/// The most promising schedules that were not measured, best first.
std::vector<Schedule> evolved(EvolutionarySearchNode& self, std::vector<Schedule> population, size_t size,
                              size_t count) {
  KnownScores known;
  for (int64_t generation = 0; generation <= self.genetic_num_iters && !population.empty(); ++generation) {
    const std::vector<double> scores = known.of(self, population);
    if (generation < self.genetic_num_iters) population = next_generation(self, population, scores, size);
  }
  return known.best(self, count);
}

/// Mostly the best, some at random, none twice and none that was measured.
std::vector<Schedule> picked(EvolutionarySearchNode& self, const std::vector<Schedule>& unmeasured,
                             const std::vector<Schedule>& best, size_t count) {
  auto random_count = static_cast<size_t>(std::ceil(static_cast<double>(count) * self.eps_greedy));
  size_t best_count = count - std::min(count, random_count);
  std::vector<Schedule> out;
  std::vector<size_t> order(unmeasured.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<size_t>(sample_int(&self.state.random, 0, static_cast<int>(i + 1)))]);
  size_t next_best = 0, next_random = 0;
  auto take = [&](const Schedule& sch) {
    if (add_module(&self.measured, sch->state.mod())) out.push_back(sch);
  };
  while (out.size() < count && (next_best < best.size() || next_random < order.size())) {
    bool wants_best = out.size() < best_count ? next_best < best.size() : next_random >= order.size();
    if (wants_best) take(best[next_best++]);
    else if (next_random < order.size()) take(unmeasured[order[next_random++]]);
    else take(best[next_best++]);
  }
  return out;
}

}  // namespace

void EvolutionarySearchNode::pre_tuning(const Array<Schedule>& spaces, const Database& database,
                                        const CostModel& cost_model) {
  state.start(spaces, database, cost_model);
  if (!database) return;
  workload = database->methods->commit_workload(*database.edit(), state.context->mod);
  // What an earlier run measured is not measured again.
  for (const TuningRecord& record : database->methods->top_k(*database.edit(), workload, 1 << 20)) {
    Schedule sch = replayed(*state.context, record->trace, false, 1);
    if (sch) add_module(&measured, sch->state.mod());
  }
}

void EvolutionarySearchNode::post_tuning() {
  state.stop();
  measured.clear();
  workload = Workload();
}

Array<MeasureCandidate> EvolutionarySearchNode::generate() {
  state.require_running("EvolutionarySearch");
  auto count =
      static_cast<size_t>(std::max<int64_t>(0, std::min(num_trials_per_iter, max_trials_per_task - state.begun)));
  if (count == 0) return Array<MeasureCandidate>(nullptr);
  const size_t size = population_of(*this, count);
  auto wanted_measured = static_cast<size_t>(static_cast<double>(size) * init_measured_ratio);
  std::vector<Schedule> population = best_measured(*this, wanted_measured);
  const size_t wanted = size - std::min(population.size(), size);
  std::vector<Schedule> unmeasured = drawn(*this, std::max(wanted, static_cast<size_t>(init_min_unmeasured)));
  log(*state.context, Level::Info,
      "sampled " + std::to_string(unmeasured.size()) + " candidates, took " + std::to_string(population.size()) +
          " from the database");
  if (population.empty() && unmeasured.empty()) return Array<MeasureCandidate>(nullptr);
  population.insert(population.end(), unmeasured.begin(), unmeasured.end());
  std::vector<Schedule> best = evolved(*this, std::move(population), size, count);
  Array<ArgInfo> args = args_of(state.context->mod);
  Array<MeasureCandidate> out;
  for (const Schedule& sch : picked(*this, unmeasured, best, count))
    out.push_back(make(MeasureCandidateNode{.sch = sch, .args_info = args}));
  state.begun += static_cast<int64_t>(out.size());
  return out.empty() ? Array<MeasureCandidate>(nullptr) : out;
}

namespace {
Globals evolutionary_search_globals{
    {"meta_schedule.SearchStrategyEvolutionarySearch",
     [](int64_t per_iter, int64_t per_task, int64_t population, double measured_ratio, int64_t min_unmeasured,
        int64_t generations, double mutate_prob, int64_t max_fail_count, double eps_greedy) {
       if (population < 1 || per_iter < 1) throw Error(ValueError) << "a search has at least one candidate a round";
       for (double share : {measured_ratio, mutate_prob, eps_greedy})
         if (!(share >= 0 && share <= 1)) throw Error(ValueError) << "shares lie in [0, 1], " << share << " does not";
       EvolutionarySearchNode strategy;
       strategy.num_trials_per_iter = per_iter;
       strategy.max_trials_per_task = per_task;
       strategy.population_size = population;
       strategy.init_measured_ratio = measured_ratio;
       strategy.init_min_unmeasured = min_unmeasured;
       strategy.genetic_num_iters = generations;
       strategy.genetic_mutate_prob = mutate_prob;
       strategy.genetic_max_fail_count = max_fail_count;
       strategy.eps_greedy = eps_greedy;
       return SearchStrategy(make(std::move(strategy)));
     }},
};
}  // namespace
}  // namespace tessera::meta_schedule
