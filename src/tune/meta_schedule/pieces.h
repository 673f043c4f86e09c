#pragma once
// The pieces of a search: what each kind can do. A piece is a node with a table of its methods, so that C++ and Python write
// them alike; one that is written in Python holds its functions (python_pieces.cc).

#include "ir/module.h"
#include "ir/target/target.h"
#include "runtime/packed_func.h"
#include "schedule/schedule.h"
#include "tune/meta_schedule/records.h"

namespace tessera::meta_schedule {

using schedule::Instruction;
using schedule::Schedule;
using schedule::Trace;

struct TuneContextNode;
using TuneContext = Ref<TuneContextNode>;

/// A piece that keeps what it learns apart: a copy, or what its own `cloned` gives.
template <class Base, class T>
Ref<Base> copied(const T& piece) {
  if constexpr (requires { piece.cloned(); }) return piece.cloned();
  else return make(T(piece));
}

/// Turns a schedule and one of its blocks into the schedules to go on with.
struct ScheduleRuleNode : Object {
  struct Methods {
    void (*initialize)(ScheduleRuleNode& self, const TuneContextNode& context);
    Array<Schedule> (*apply)(ScheduleRuleNode& self, const Schedule& sch, const ObjectRef& block);
    Ref<ScheduleRuleNode> (*clone)(const ScheduleRuleNode& self);
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](ScheduleRuleNode& self, const TuneContextNode& context) { static_cast<T&>(self).initialize(context); },
      [](ScheduleRuleNode& self, const Schedule& sch, const ObjectRef& block) {
        return static_cast<T&>(self).apply(sch, block);
      },
      [](const ScheduleRuleNode& self) -> Ref<ScheduleRuleNode> {
        return copied<ScheduleRuleNode>(static_cast<const T&>(self));
      }};
  const Methods* methods = nullptr;

  static constexpr NodeInfo info{"meta_schedule.ScheduleRule", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using ScheduleRule = Ref<ScheduleRuleNode>;

/// Changes a schedule whose decisions are made; false where the result is none to measure.
struct PostprocNode : Object {
  struct Methods {
    void (*initialize)(PostprocNode& self, const TuneContextNode& context);
    bool (*apply)(PostprocNode& self, const Schedule& sch);
    Ref<PostprocNode> (*clone)(const PostprocNode& self);
    bool is_python;
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](PostprocNode& self, const TuneContextNode& context) { static_cast<T&>(self).initialize(context); },
      [](PostprocNode& self, const Schedule& sch) { return static_cast<T&>(self).apply(sch); },
      [](const PostprocNode& self) -> Ref<PostprocNode> { return copied<PostprocNode>(static_cast<const T&>(self)); },
      requires(const T& t){t.cloned();
}
};  // namespace tessera::meta_schedule
const Methods* methods = nullptr;

static constexpr NodeInfo info{"meta_schedule.Postproc", &Object::info, Role::Identity};
static void fields(auto) {}
}
;
using Postproc = Ref<PostprocNode>;

/// Gives a trace with another decision; an empty one where it has none to change. `random` is the state of a generator.
struct MutatorNode : Object {
  struct Methods {
    void (*initialize)(MutatorNode& self, const TuneContextNode& context);
    Trace (*apply)(MutatorNode& self, const Trace& trace, int64_t* random);
    Ref<MutatorNode> (*clone)(const MutatorNode& self);
    bool is_python;
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](MutatorNode& self, const TuneContextNode& context) { static_cast<T&>(self).initialize(context); },
      [](MutatorNode& self, const Trace& trace, int64_t* random) { return static_cast<T&>(self).apply(trace, random); },
      [](const MutatorNode& self) -> Ref<MutatorNode> { return copied<MutatorNode>(static_cast<const T&>(self)); },
      requires(const T& t){t.cloned();
}
}
;
const Methods* methods = nullptr;

static constexpr NodeInfo info{"meta_schedule.Mutator", &Object::info, Role::Identity};
static void fields(auto) {}
}
;
using Mutator = Ref<MutatorNode>;

/// Gives the schedules whose traces are the design space of a module.
struct SpaceGeneratorNode : Object {
  struct Methods {
    void (*initialize)(SpaceGeneratorNode& self, const TuneContextNode& context);
    Array<Schedule> (*generate)(SpaceGeneratorNode& self, const IRModule& mod);
    Ref<SpaceGeneratorNode> (*clone)(const SpaceGeneratorNode& self);
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](SpaceGeneratorNode& self, const TuneContextNode& context) { static_cast<T&>(self).initialize(context); },
      [](SpaceGeneratorNode& self, const IRModule& mod) { return static_cast<T&>(self).generate(mod); },
      [](const SpaceGeneratorNode& self) -> Ref<SpaceGeneratorNode> {
        return copied<SpaceGeneratorNode>(static_cast<const T&>(self));
      }};
  const Methods* methods = nullptr;

  static constexpr NodeInfo info{"meta_schedule.SpaceGenerator", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using SpaceGenerator = Ref<SpaceGeneratorNode>;

/// Predicts how good candidates are (more is better), and learns from results.
struct CostModelNode : Object {
  struct Methods {
    void (*load)(CostModelNode& self, const String& path);
    void (*save)(CostModelNode& self, const String& path);
    void (*update)(CostModelNode& self, const TuneContext& context, const Array<MeasureCandidate>& candidates,
                   const Array<RunnerResult>& results);
    std::vector<double> (*predict)(CostModelNode& self, const TuneContext& context,
                                   const Array<MeasureCandidate>& candidates);
    bool (*is_blind)(CostModelNode& self);  // what it predicts tells nothing, yet or ever
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](CostModelNode& self, const String& path) { static_cast<T&>(self).load(path); },
      [](CostModelNode& self, const String& path) { static_cast<T&>(self).save(path); },
      [](CostModelNode& self, const TuneContext& context, const Array<MeasureCandidate>& candidates,
         const Array<RunnerResult>& results) { static_cast<T&>(self).update(context, candidates, results); },
      [](CostModelNode& self, const TuneContext& context, const Array<MeasureCandidate>& candidates) {
        return static_cast<T&>(self).predict(context, candidates);
      },
      [](CostModelNode& self) { return static_cast<T&>(self).is_blind(); }};
  const Methods* methods = nullptr;

  static constexpr NodeInfo info{"meta_schedule.CostModel", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using CostModel = Ref<CostModelNode>;

/// Workloads and what was measured of them.
struct DatabaseNode : Object {
  struct Methods {
    bool (*has_workload)(DatabaseNode& self, const IRModule& mod);
    Workload (*commit_workload)(DatabaseNode& self, const IRModule& mod);
    void (*commit_record)(DatabaseNode& self, const TuningRecord& record);
    Array<TuningRecord> (*top_k)(DatabaseNode& self, const Workload& workload, int k);
    Array<TuningRecord> (*all)(DatabaseNode& self);
    TuningRecord (*query)(DatabaseNode& self, const IRModule& mod, const Target& target, const String& name);
    int64_t (*size)(DatabaseNode& self);
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](DatabaseNode& self, const IRModule& mod) { return static_cast<T&>(self).has_workload(mod); },
      [](DatabaseNode& self, const IRModule& mod) { return static_cast<T&>(self).commit_workload(mod); },
      [](DatabaseNode& self, const TuningRecord& record) { static_cast<T&>(self).commit_record(record); },
      [](DatabaseNode& self, const Workload& workload, int k) { return static_cast<T&>(self).top_k(workload, k); },
      [](DatabaseNode& self) { return static_cast<T&>(self).all(); },
      [](DatabaseNode& self, const IRModule& mod, const Target& target, const String& name) {
        return static_cast<T&>(self).query(mod, target, name);
      },
      [](DatabaseNode& self) { return static_cast<T&>(self).size(); }};
  const Methods* methods = nullptr;
  /// Modules whose best record was slower than what the schedule rules make of them: compilers do not use it.
  std::vector<IRModule> by_rules;

  static constexpr NodeInfo info{"meta_schedule.Database", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using Database = Ref<DatabaseNode>;
bool is_left_to_rules(const DatabaseNode& database, const IRModule& mod);

/// Chooses what to measure next in design spaces.
struct SearchStrategyNode : Object {
  struct Methods {
    void (*initialize)(SearchStrategyNode& self, const TuneContext& context);
    void (*pre_tuning)(SearchStrategyNode& self, const Array<Schedule>& spaces, const Database& database,
                       const CostModel& cost_model);
    void (*post_tuning)(SearchStrategyNode& self);
    /// An empty reference: there is nothing more to measure.
    Array<MeasureCandidate> (*generate)(SearchStrategyNode& self);
    void (*notify)(SearchStrategyNode& self, const Array<MeasureCandidate>& candidates,
                   const Array<RunnerResult>& results);
    Ref<SearchStrategyNode> (*clone)(const SearchStrategyNode& self);
  };
  template <class T>
  static constexpr Methods methods_of = {
      [](SearchStrategyNode& self, const TuneContext& context) { static_cast<T&>(self).initialize(context); },
      [](SearchStrategyNode& self, const Array<Schedule>& spaces, const Database& database,
         const CostModel& cost_model) { static_cast<T&>(self).pre_tuning(spaces, database, cost_model); },
      [](SearchStrategyNode& self) { static_cast<T&>(self).post_tuning(); },
      [](SearchStrategyNode& self) { return static_cast<T&>(self).generate(); },
      [](SearchStrategyNode& self, const Array<MeasureCandidate>& candidates, const Array<RunnerResult>& results) {
        static_cast<T&>(self).notify(candidates, results);
      },
      [](const SearchStrategyNode& self) -> Ref<SearchStrategyNode> {
        return copied<SearchStrategyNode>(static_cast<const T&>(self));
      }};
  const Methods* methods = nullptr;

  static constexpr NodeInfo info{"meta_schedule.SearchStrategy", &Object::info, Role::Identity};
  static void fields(auto) {}
};
using SearchStrategy = Ref<SearchStrategyNode>;

/// One piece of work and everything that its search uses.
struct TuneContextNode : Object {
  IRModule mod{nullptr};
  Target target;
  SpaceGenerator space_generator;
  SearchStrategy search_strategy;
  Array<ScheduleRule> sch_rules;
  Array<Postproc> postprocs;
  Map<Mutator, ObjectRef> mutator_probs;  // floats
  String task_name = "main";
  PackedFunc logger;  // (level, message), or empty
  int64_t rand_state = 1;
  int32_t num_threads = 1;

  static constexpr NodeInfo info{"meta_schedule.TuneContext", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("mod", &TuneContextNode::mod, Optional);
    f("target", &TuneContextNode::target, Optional);
    f("space_generator", &TuneContextNode::space_generator, Optional);
    f("search_strategy", &TuneContextNode::search_strategy, Optional);
    f("sch_rules", &TuneContextNode::sch_rules);
    f("postprocs", &TuneContextNode::postprocs);
    f("mutator_probs", &TuneContextNode::mutator_probs);
    f("task_name", &TuneContextNode::task_name);
    f("rand_state", &TuneContextNode::rand_state);
    f("num_threads", &TuneContextNode::num_threads);
  }
};

/// Logging levels are Python's.
enum class Level : int { Debug = 10, Info = 20, Warning = 30, Error = 40 };
void log(const TuneContextNode& context, Level level, const std::string& message);

}  // namespace tessera::meta_schedule
