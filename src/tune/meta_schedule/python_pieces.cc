// Pieces whose methods are functions of another language, handed in when they are made.

#include "tune/meta_schedule/python_pieces.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/space/spaces.h"

namespace tessera::meta_schedule {
namespace {

[[noreturn]] void missing(const char* piece, const char* method) {
  throw Error(NotImplementedError) << piece << "'s " << method << " method is not implemented";
}

/// The method, or an error that says which one is lacking.
const PackedFunc& required(const PackedFunc& method, const char* piece, const char* name) {
  if (!method.defined()) missing(piece, name);
  return method;
}

template <class T>
Ref<T> as_piece(const Any& result, const char* name) {
  Ref<T> out = result.to<Ref<T>>();
  if (!out) throw Error(TypeError) << name << ": clone returned None";
  return out;
}

}  // namespace

void PyScheduleRuleNode::initialize(const TuneContextNode& context) {
  if (f_initialize.defined()) f_initialize(TuneContext(&context));
}
Array<Schedule> PyScheduleRuleNode::apply(const Schedule& sch, const ObjectRef& block) {
  return schedules_of(required(f_apply, "PyScheduleRule", "apply")(sch, block), sch);
}
ScheduleRule PyScheduleRuleNode::cloned() const {
  return as_piece<ScheduleRuleNode>(required(f_clone, "PyScheduleRule", "clone")(), "PyScheduleRule");
}

void PyPostprocNode::initialize(const TuneContextNode& context) {
  if (f_initialize.defined()) f_initialize(TuneContext(&context));
}
bool PyPostprocNode::apply(const Schedule& sch) { return required(f_apply, "PyPostproc", "apply")(sch).to<bool>(); }
Postproc PyPostprocNode::cloned() const {
  return as_piece<PostprocNode>(required(f_clone, "PyPostproc", "clone")(), "PyPostproc");
}

void PyMutatorNode::initialize(const TuneContextNode& context) {
  if (f_initialize.defined()) f_initialize(TuneContext(&context));
}
Trace PyMutatorNode::apply(const Trace& trace, int64_t* random) {
  return required(f_apply, "PyMutator", "apply")(trace, *random).to<Trace>();
}
Mutator PyMutatorNode::cloned() const {
  return as_piece<MutatorNode>(required(f_clone, "PyMutator", "clone")(), "PyMutator");
}

void PySpaceGeneratorNode::initialize(const TuneContextNode& context) {
  if (f_initialize.defined()) f_initialize(TuneContext(&context));
}
Array<Schedule> PySpaceGeneratorNode::generate(const IRModule& mod) {
  return required(f_generate, "PySpaceGenerator", "generate_design_space")(mod).to<Array<Schedule>>();
}
SpaceGenerator PySpaceGeneratorNode::cloned() const {
  return as_piece<SpaceGeneratorNode>(required(f_clone, "PySpaceGenerator", "clone")(), "PySpaceGenerator");
}

void PySearchStrategyNode::initialize(const TuneContext& context) {
  if (f_initialize.defined()) f_initialize(context);
}
void PySearchStrategyNode::pre_tuning(const Array<Schedule>& spaces, const Database& database,
                                      const CostModel& cost_model) {
  required(f_pre_tuning, "PySearchStrategy", "pre_tuning")(spaces, database, cost_model);
}
void PySearchStrategyNode::post_tuning() { required(f_post_tuning, "PySearchStrategy", "post_tuning")(); }
Array<MeasureCandidate> PySearchStrategyNode::generate() {
  return required(f_generate, "PySearchStrategy", "generate_measure_candidates")().to<Array<MeasureCandidate>>();
}
void PySearchStrategyNode::notify(const Array<MeasureCandidate>& candidates, const Array<RunnerResult>& results) {
  required(f_notify, "PySearchStrategy", "notify_runner_results")(candidates, results);
}
SearchStrategy PySearchStrategyNode::cloned() const {
  return as_piece<SearchStrategyNode>(required(f_clone, "PySearchStrategy", "clone")(), "PySearchStrategy");
}

void PyCostModelNode::load(const String& path) { required(f_load, "PyCostModel", "load")(path); }
void PyCostModelNode::save(const String& path) { required(f_save, "PyCostModel", "save")(path); }
void PyCostModelNode::update(const TuneContext& context, const Array<MeasureCandidate>& candidates,
                             const Array<RunnerResult>& results) {
  required(f_update, "PyCostModel", "update")(context, candidates, results);
}
std::vector<double> PyCostModelNode::predict(const TuneContext& context, const Array<MeasureCandidate>& candidates) {
  Array<ObjectRef> scores = required(f_predict, "PyCostModel", "predict")(context, candidates).to<Array<ObjectRef>>();
  if (scores.size() != candidates.size())
    throw Error(ValueError) << "PyCostModel: predict gave " << scores.size() << " scores for " << candidates.size()
                            << " candidates";
  return seconds_of(scores);
}

bool PyDatabaseNode::has_workload(const IRModule& mod) {
  return required(f_has_workload, "PyDatabase", "has_workload")(mod).to<bool>();
}
Workload PyDatabaseNode::commit_workload(const IRModule& mod) {
  return required(f_commit_workload, "PyDatabase", "commit_workload")(mod).to<Workload>();
}
void PyDatabaseNode::commit_record(const TuningRecord& record) {
  required(f_commit_record, "PyDatabase", "commit_tuning_record")(record);
}
Array<TuningRecord> PyDatabaseNode::top_k(const Workload& workload, int k) {
  return required(f_top_k, "PyDatabase", "get_top_k")(workload, k).to<Array<TuningRecord>>();
}
Array<TuningRecord> PyDatabaseNode::all() {
  return required(f_all, "PyDatabase", "get_all_tuning_records")().to<Array<TuningRecord>>();
}
TuningRecord PyDatabaseNode::query(const IRModule& mod, const Target& target, const String& name) {
  if (!f_query.defined()) return best_record(*this, mod);
  return f_query(mod, target, name).to<TuningRecord>();
}
int64_t PyDatabaseNode::size() { return required(f_size, "PyDatabase", "__len__")().to<int64_t>(); }

namespace {

Globals python_pieces_globals{
    {"meta_schedule.ScheduleRulePyScheduleRule",
     [](const PackedFunc& initialize, const PackedFunc& apply, const PackedFunc& clone) {
       PyScheduleRuleNode out;
       out.f_initialize = initialize;
       out.f_apply = apply;
       out.f_clone = clone;
       return ScheduleRule(make(std::move(out)));
     }},
    {"meta_schedule.PostprocPyPostproc",
     [](const PackedFunc& initialize, const PackedFunc& apply, const PackedFunc& clone) {
       PyPostprocNode out;
       out.f_initialize = initialize;
       out.f_apply = apply;
       out.f_clone = clone;
       return Postproc(make(std::move(out)));
     }},
    {"meta_schedule.MutatorPyMutator",
     [](const PackedFunc& initialize, const PackedFunc& apply, const PackedFunc& clone) {
       PyMutatorNode out;
       out.f_initialize = initialize;
       out.f_apply = apply;
       out.f_clone = clone;
       return Mutator(make(std::move(out)));
     }},
    {"meta_schedule.SpaceGeneratorPySpaceGenerator",
     [](const PackedFunc& initialize, const PackedFunc& generate, const PackedFunc& clone) {
       PySpaceGeneratorNode out;
       out.f_initialize = initialize;
       out.f_generate = generate;
       out.f_clone = clone;
       return SpaceGenerator(make(std::move(out)));
     }},
    {"meta_schedule.SearchStrategyPySearchStrategy",
     [](const PackedFunc& initialize, const PackedFunc& pre_tuning, const PackedFunc& post_tuning,
        const PackedFunc& generate, const PackedFunc& notify, const PackedFunc& clone) {
       PySearchStrategyNode out;
       out.f_initialize = initialize;
       out.f_pre_tuning = pre_tuning;
       out.f_post_tuning = post_tuning;
       out.f_generate = generate;
       out.f_notify = notify;
       out.f_clone = clone;
       return SearchStrategy(make(std::move(out)));
     }},
    {"meta_schedule.CostModelPyCostModel",
     [](const PackedFunc& load, const PackedFunc& save, const PackedFunc& update, const PackedFunc& predict,
        const PackedFunc& is_blind) {
       PyCostModelNode out;
       out.f_load = load;
       out.f_save = save;
       out.f_update = update;
       out.f_predict = predict;
       out.f_is_blind = is_blind;
       return CostModel(make(std::move(out)));
     }},
    {"meta_schedule.DatabasePyDatabase",
     [](const PackedFunc& has_workload, const PackedFunc& commit_workload, const PackedFunc& commit_record,
        const PackedFunc& top_k, const PackedFunc& all, const PackedFunc& query, const PackedFunc& size) {
       PyDatabaseNode out;
       out.f_has_workload = has_workload;
       out.f_commit_workload = commit_workload;
       out.f_commit_record = commit_record;
       out.f_top_k = top_k;
       out.f_all = all;
       out.f_query = query;
       out.f_size = size;
       return Database(make(std::move(out)));
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule
