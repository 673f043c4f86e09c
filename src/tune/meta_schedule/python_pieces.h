#pragma once
// Pieces whose methods are functions of another language.

#include "tune/meta_schedule/database/databases.h"
#include "tune/meta_schedule/pieces.h"

namespace tessera::meta_schedule {

struct PyScheduleRuleNode : ScheduleRuleNode {
  PackedFunc f_initialize, f_apply, f_clone;
  PyScheduleRuleNode() { methods = &methods_of<PyScheduleRuleNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> apply(const Schedule& sch, const ObjectRef& block);
  ScheduleRule cloned() const;
  static constexpr NodeInfo info{"meta_schedule.PyScheduleRule", &ScheduleRuleNode::info, Role::Identity};
  static void fields(auto) {}
};

struct PyPostprocNode : PostprocNode {
  PackedFunc f_initialize, f_apply, f_clone;
  PyPostprocNode() { methods = &methods_of<PyPostprocNode>; }
  void initialize(const TuneContextNode& context);
  bool apply(const Schedule& sch);
  Postproc cloned() const;
  static constexpr NodeInfo info{"meta_schedule.PyPostproc", &PostprocNode::info, Role::Identity};
  static void fields(auto) {}
};

struct PyMutatorNode : MutatorNode {
  PackedFunc f_initialize, f_apply, f_clone;
  PyMutatorNode() { methods = &methods_of<PyMutatorNode>; }
  void initialize(const TuneContextNode& context);
  Trace apply(const Trace& trace, int64_t* random);
  Mutator cloned() const;
  static constexpr NodeInfo info{"meta_schedule.PyMutator", &MutatorNode::info, Role::Identity};
  static void fields(auto) {}
};

struct PySpaceGeneratorNode : SpaceGeneratorNode {
  PackedFunc f_initialize, f_generate, f_clone;
  PySpaceGeneratorNode() { methods = &methods_of<PySpaceGeneratorNode>; }
  void initialize(const TuneContextNode& context);
  Array<Schedule> generate(const IRModule& mod);
  SpaceGenerator cloned() const;
  static constexpr NodeInfo info{"meta_schedule.PySpaceGenerator", &SpaceGeneratorNode::info, Role::Identity};
  static void fields(auto) {}
};

struct PySearchStrategyNode : SearchStrategyNode {
  PackedFunc f_initialize, f_pre_tuning, f_post_tuning, f_generate, f_notify, f_clone;
  PySearchStrategyNode() { methods = &methods_of<PySearchStrategyNode>; }
  void initialize(const TuneContext& context);
  void pre_tuning(const Array<Schedule>& spaces, const Database& database, const CostModel& cost_model);
  void post_tuning();
  Array<MeasureCandidate> generate();
  void notify(const Array<MeasureCandidate>& candidates, const Array<RunnerResult>& results);
  SearchStrategy cloned() const;
  static constexpr NodeInfo info{"meta_schedule.PySearchStrategy", &SearchStrategyNode::info, Role::Identity};
  static void fields(auto) {}
};

struct PyCostModelNode : CostModelNode {
  PackedFunc f_load, f_save, f_update, f_predict, f_is_blind;
  PyCostModelNode() { methods = &methods_of<PyCostModelNode>; }
  void load(const String& path);
  void save(const String& path);
  void update(const TuneContext& context, const Array<MeasureCandidate>& candidates,
              const Array<RunnerResult>& results);
  std::vector<double> predict(const TuneContext& context, const Array<MeasureCandidate>& candidates);
  bool is_blind() { return f_is_blind && f_is_blind().to<bool>(); }
  static constexpr NodeInfo info{"meta_schedule.PyCostModel", &CostModelNode::info, Role::Identity};
  static void fields(auto) {}
};

struct PyDatabaseNode : DatabaseNode {
  PackedFunc f_has_workload, f_commit_workload, f_commit_record, f_top_k, f_all, f_query, f_size;
  PyDatabaseNode() { methods = &methods_of<PyDatabaseNode>; }
  bool has_workload(const IRModule& mod);
  Workload commit_workload(const IRModule& mod);
  void commit_record(const TuningRecord& record);
  Array<TuningRecord> top_k(const Workload& workload, int k);
  Array<TuningRecord> all();
  TuningRecord query(const IRModule& mod, const Target& target, const String& name);
  int64_t size();
  static constexpr NodeInfo info{"meta_schedule.PyDatabase", &DatabaseNode::info, Role::Identity};
  static void fields(auto) {}
};

}  // namespace tessera::meta_schedule
