#include "schedule/trace/sampling.h"
#include "base/run_tasks.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/postproc/postprocs.h"
#include "tune/meta_schedule/search/strategies.h"

namespace tessera::meta_schedule {

using schedule::Random;

void SearchState::initialize(const TuneContext& of) {
  TuneContextNode own = *of;
  own.search_strategy = nullptr;
  context = make(std::move(own));
  random = Random::state_of_seed(Random(&of.edit()->rand_state).fork());
}

void SearchState::start(const Array<Schedule>& design_spaces, const Database& with_database,
                        const CostModel& with_cost_model) {
  if (is_running) throw Error(ValueError) << "pre_tuning was called already, without post_tuning after it";
  if (design_spaces.empty()) throw Error(ValueError) << "there is no design space to search";
  spaces = design_spaces;
  database = with_database;
  cost_model = with_cost_model;
  is_running = true;
}

void SearchState::require_running(const char* strategy) const {
  if (!is_running) throw Error(ValueError) << strategy << ": call pre_tuning before asking for candidates";
}

void for_each(const TuneContextNode& context, size_t count, const std::function<void(size_t)>& task) {
  bool is_python = false;
  for (const Postproc& each : context.postprocs) is_python |= each->methods->is_python;
  for (const auto& [each, probability] : context.mutator_probs) is_python |= each->methods->is_python;
  run_tasks(count, is_python ? 1 : static_cast<size_t>(context.num_threads), task);
}

Schedule replayed(const TuneContextNode& context, const Trace& trace, bool samples, int64_t seed) {
  Schedule sch = schedule::make_schedule(context.mod, seed, 0, 2);
  try {
    schedule::DecisionProvider draw_anew;
    if (samples)
      draw_anew = [](const Instruction&, const Array<ObjectRef>&, const Array<ObjectRef>&, const ObjectRef&) {
        return ObjectRef();
      };
    schedule::replay(trace, *sch.edit(), true, draw_anew);
  } catch (const Error& error) {
    if (error.kind() == InternalError || error.foreign()) throw;
    return {};
  }
  return postprocessed(sch, context.postprocs) ? sch : Schedule();
}

Array<MeasureCandidate> ReplayTraceNode::generate() {
  state.require_running("ReplayTrace");
  int64_t count = std::min(num_trials_per_iter, max_trials_per_task - state.begun);
  if (count <= 0) return Array<MeasureCandidate>(nullptr);
  const TuneContextNode& context = *state.context;
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < count; ++i) seeds.push_back(Random(&state.random).fork() + 1);
  std::vector<Schedule> found(seeds.size());
  for_each(context, seeds.size(), [&](size_t i) {
    int64_t random = Random::state_of_seed(seeds[i]);
    for (int64_t tries = 0; tries < max_fail_count && !found[i]; ++tries) {
      auto space = static_cast<size_t>(schedule::sample_int(&random, 0, static_cast<int>(state.spaces.size())));
      Trace trace = schedule::trace_simplified(state.spaces[space]->trace, true);
      found[i] = replayed(context, trace, true, Random(&random).fork() + 1);
    }
  });
  state.begun += count;
  Array<ArgInfo> args = args_of(context.mod);
  Array<MeasureCandidate> out;
  for (const Schedule& sch : found)
    if (sch) out.push_back(make(MeasureCandidateNode{.sch = sch, .args_info = args}));
  return out.empty() ? Array<MeasureCandidate>(nullptr) : out;
}

Array<MeasureCandidate> ReplayFuncNode::generate() {
  state.require_running("ReplayFunc");
  const TuneContextNode& context = *state.context;
  if (!context.space_generator)
    throw Error(ValueError) << "ReplayFunc needs a space generator, and the context has none";
  int64_t count = std::min(num_trials_per_iter, max_trials_per_task - state.begun);
  if (count <= 0) return Array<MeasureCandidate>(nullptr);
  Array<ArgInfo> args = args_of(context.mod);
  Array<MeasureCandidate> out;
  constexpr int kMaxFailures = 1000;
  for (int failures = 0; static_cast<int64_t>(out.size()) < count && failures < kMaxFailures;) {
    Array<Schedule> spaces = context.space_generator->methods->generate(*context.space_generator.edit(), context.mod);
    if (spaces.empty()) break;
    size_t space = static_cast<size_t>(schedule::sample_int(&state.random, 0, static_cast<int>(spaces.size())));
    Schedule sch = spaces[space];
    if (postprocessed(sch, context.postprocs)) out.push_back(make(MeasureCandidateNode{.sch = sch, .args_info = args}));
    else ++failures;
  }
  state.begun += count;
  return out.empty() ? Array<MeasureCandidate>(nullptr) : out;
}

namespace {

Globals sampling_globals{
    {"meta_schedule.SearchStrategyInitializeWithTuneContext",
     [](const SearchStrategy& self, const TuneContext& context) { self->methods->initialize(*self.edit(), context); }},
    {"meta_schedule.SearchStrategyPreTuning",
     [](const SearchStrategy& self, const Array<Schedule>& spaces, const Database& database,
        const CostModel& cost_model) { self->methods->pre_tuning(*self.edit(), spaces, database, cost_model); }},
    {"meta_schedule.SearchStrategyPostTuning",
     [](const SearchStrategy& self) { self->methods->post_tuning(*self.edit()); }},
    {"meta_schedule.SearchStrategyGenerateMeasureCandidates",
     [](const SearchStrategy& self) { return self->methods->generate(*self.edit()); }},
    {"meta_schedule.SearchStrategyNotifyRunnerResults",
     [](const SearchStrategy& self, const Array<MeasureCandidate>& candidates, const Array<RunnerResult>& results) {
       self->methods->notify(*self.edit(), candidates, results);
     }},
    {"meta_schedule.SearchStrategyClone", [](const SearchStrategy& self) { return self->methods->clone(*self); }},
    {"meta_schedule.SearchStrategyReplayTrace",
     [](int64_t per_iter, int64_t per_task, int64_t max_fail_count) {
       ReplayTraceNode strategy;
       strategy.num_trials_per_iter = per_iter;
       strategy.max_trials_per_task = per_task;
       strategy.max_fail_count = max_fail_count;
       return SearchStrategy(make(std::move(strategy)));
     }},
    {"meta_schedule.SearchStrategyReplayFunc",
     [](int64_t per_iter, int64_t per_task) {
       ReplayFuncNode strategy;
       strategy.num_trials_per_iter = per_iter;
       strategy.max_trials_per_task = per_task;
       return SearchStrategy(make(std::move(strategy)));
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule
