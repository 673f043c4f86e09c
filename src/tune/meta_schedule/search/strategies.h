#pragma once
// Search strategies: each file of this folder defines one.

#include "tune/meta_schedule/pieces.h"

namespace tessera::meta_schedule {

/// What strategies remember of a run.
struct SearchState {
  TuneContext context;  // without its strategy, or each would keep the other
  Array<Schedule> spaces;
  Database database;
  CostModel cost_model;
  int64_t random = 1;
  int64_t begun = 0;  // how many candidates have been given out
  bool is_running = false;

  void initialize(const TuneContext& of);
  void start(const Array<Schedule>& design_spaces, const Database& with_database, const CostModel& with_cost_model);
  void stop() { *this = SearchState{.context = context, .random = random}; }
  void require_running(const char* strategy) const;
};

/// Replays traces of the design spaces with fresh decisions.
struct ReplayTraceNode : SearchStrategyNode {
  int64_t num_trials_per_iter = 64, max_trials_per_task = 64, max_fail_count = 100;
  SearchState state;
  ReplayTraceNode() { methods = &methods_of<ReplayTraceNode>; }
  void initialize(const TuneContext& context) { state.initialize(context); }
  void pre_tuning(const Array<Schedule>& spaces, const Database& database, const CostModel& cost_model) {
    state.start(spaces, database, cost_model);
  }
  void post_tuning() { state.stop(); }
  Array<MeasureCandidate> generate();
  void notify(const Array<MeasureCandidate>&, const Array<RunnerResult>&) {}
  static constexpr NodeInfo info{"meta_schedule.ReplayTrace", &SearchStrategyNode::info, Role::Identity};
  static void fields(auto f) {
    f("num_trials_per_iter", &ReplayTraceNode::num_trials_per_iter);
    f("max_trials_per_task", &ReplayTraceNode::max_trials_per_task);
    f("max_fail_count", &ReplayTraceNode::max_fail_count);
  }
};

/// Calls the space generator anew for each candidate.
struct ReplayFuncNode : SearchStrategyNode {
  int64_t num_trials_per_iter = 64, max_trials_per_task = 64;
  SearchState state;
  ReplayFuncNode() { methods = &methods_of<ReplayFuncNode>; }
  void initialize(const TuneContext& context) { state.initialize(context); }
  void pre_tuning(const Array<Schedule>& spaces, const Database& database, const CostModel& cost_model) {
    state.start(spaces, database, cost_model);
  }
  void post_tuning() { state.stop(); }
  Array<MeasureCandidate> generate();
  void notify(const Array<MeasureCandidate>&, const Array<RunnerResult>&) {}
  static constexpr NodeInfo info{"meta_schedule.ReplayFunc", &SearchStrategyNode::info, Role::Identity};
  static void fields(auto f) {
    f("num_trials_per_iter", &ReplayFuncNode::num_trials_per_iter);
    f("max_trials_per_task", &ReplayFuncNode::max_trials_per_task);
  }
};

/// Breeds traces: the best by the cost model survive and are mutated, and what was measured to be good takes part.
struct EvolutionarySearchNode : SearchStrategyNode {
  int64_t num_trials_per_iter = 64, max_trials_per_task = 64, population_size = 2048, init_min_unmeasured = 50,
          genetic_num_iters = 4, genetic_max_fail_count = 10;
  double init_measured_ratio = 0.2, genetic_mutate_prob = 0.85, eps_greedy = 0.05;
  SearchState state;
  Workload workload;
  std::unordered_map<int64_t, std::vector<IRModule>> measured;  // by structural hash
  EvolutionarySearchNode() { methods = &methods_of<EvolutionarySearchNode>; }
  void initialize(const TuneContext& context) { state.initialize(context); }
  void pre_tuning(const Array<Schedule>& spaces, const Database& database, const CostModel& cost_model);
  void post_tuning();
  Array<MeasureCandidate> generate();
  void notify(const Array<MeasureCandidate>&, const Array<RunnerResult>&) {}
  static constexpr NodeInfo info{"meta_schedule.EvolutionarySearch", &SearchStrategyNode::info, Role::Identity};
  static void fields(auto f) {
    f("num_trials_per_iter", &EvolutionarySearchNode::num_trials_per_iter);
    f("max_trials_per_task", &EvolutionarySearchNode::max_trials_per_task);
    f("population_size", &EvolutionarySearchNode::population_size);
    f("init_measured_ratio", &EvolutionarySearchNode::init_measured_ratio);
    f("init_min_unmeasured", &EvolutionarySearchNode::init_min_unmeasured);
    f("genetic_num_iters", &EvolutionarySearchNode::genetic_num_iters);
    f("genetic_mutate_prob", &EvolutionarySearchNode::genetic_mutate_prob);
    f("genetic_max_fail_count", &EvolutionarySearchNode::genetic_max_fail_count);
    f("eps_greedy", &EvolutionarySearchNode::eps_greedy);
  }
};

// ---- search/sampling.cc ------------------------------------------------------------------------------------
/// Calls task(0), ..., task(count - 1): on the context's threads, or on this one where a piece is written in Python.
void for_each(const TuneContextNode& context, size_t count, const std::function<void(size_t)>& task);
/// The trace replayed on the module of the context and postprocessed; an empty reference where one of the two is rejected.
/// `samples`: decisions are drawn anew.
Schedule replayed(const TuneContextNode& context, const Trace& trace, bool samples, int64_t seed);

}  // namespace tessera::meta_schedule
