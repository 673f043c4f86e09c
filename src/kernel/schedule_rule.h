#pragma once
// The table of schedule rules: every way to schedule a kernel, or a stage of one, is a row of it.

#include <any>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "kernel/environment.h"
#include "kernel/kernel_tensors.h"
#include "kernel/records.h"
#include "kernel/workload.h"
#include "tir/function.h"
#include "topi/block_rule.h"

namespace tessera::kernel {

struct ScheduleRule;

/// What a rule decides about.
enum class RuleScope {
  Kernel,     // how the whole of a workload becomes a program
  Program,    // all stages of a program of blocks together
  Reduction,  // a stage, before those that no rule of this scope takes are looked at
  Stage,      // any other stage
};

/// Plans of rules that fit one stage or one kernel, the chosen one first: what tuners search around.
struct Decision {
  RuleScope scope;
  std::vector<std::pair<const ScheduleRule*, ObjectRef>> plans;  // rules with knobs, and the knobs
};

/// What was chosen for a kernel.
struct Choices {
  std::vector<std::string> rules;  // that were applied, each once
  std::vector<std::string> plans;  // of those with knobs: "matmul(rows=13, vectors=2)"
  RecordedPlans recorded;          // decisions that are made already, in order; empty: rules decide
  size_t next_recorded = 0;
  std::vector<Decision>* decisions = nullptr;  // where decisions are written down, with all plans that fit

  void note(const std::string& rule, const ObjectRef& knobs);
};

/// What a rule looks at, and rewrites when it is applied.
struct Subject {
  const CompileEnvironment& environment;
  std::string kernel;                     // its name, for messages
  const Workload* workload = nullptr;     // Kernel
  std::optional<KernelTensors> tensors;   // of the workload as its strategies give them, once a rule has asked
  PrimFunc scheduled;                     // what a rule of a whole kernel made
  topi::BlockProgram* program = nullptr;  // all other scopes
  schedule::BlockRef block;               // Reduction and Stage
  Choices chosen;
};

/// What a rule will do. Only the rule looks into what it found; its knobs are an object whose fields are the numbers it decided on
/// (topi.cpu.MatmulPlan), which may be moved (knobs.h). A rule without choices has none.
class Plan {
 public:
  template <class T>
    requires(!std::is_base_of_v<Plan, T>)
  Plan(T found, ObjectRef knobs = nullptr) : knobs(std::move(knobs)), found_(std::move(found)) {}
  template <class T>
  const T& as() const {
    return std::any_cast<const T&>(found_);
  }

  ObjectRef knobs;

 private:
  std::any found_;
};

struct ScheduleRule {
  const char* name;
  /// The kind of targets it serves ("llvm"), or one of their keys ("gpu"); "cpu" for all without that key, "" for all.
  const char* target;
  RuleScope scope;
  /// What applying it costs at least, in no unit yet: among rules without a cost of their own, the order in which they are preferred.
  double least_cost;
  /// Nothing where the rule does not fit. The subject is not changed.
  std::function<std::optional<Plan>(Subject&)> match;
  /// A ScheduleError is a failure of the rule: it is reported, and the next best is tried.
  std::function<void(Subject&, const Plan&)> apply;
  /// Of a plan on a machine (empty where the target is no CPU); `least_cost` where the rule has none.
  std::function<double(const Plan&, const topi::Machine&)> cost = {};
  /// The type of its plans; null where they have no knobs.
  const TypeInfo* knobs = nullptr;
};

/// All rows.
const std::vector<ScheduleRule>& schedule_rules();
/// True where kernels of this environment may be scheduled by the rule.
bool serves(const ScheduleRule& rule, const CompileEnvironment& environment);

/// Applies the cheapest of the rules of that scope that match, the first of equals, and notes its name. False where none
/// matches. Where a record says what is decided, that is done, and an error is that of the record. A rule that matches and then fails is reported as a warning that names it and the kernel, the program is put back,
/// and the next one is taken; an error in a rule of whole kernels is the user's to see, and goes on.
bool apply_cheapest(const std::vector<ScheduleRule>& rules, RuleScope scope, Subject& subject);
/// How many rules have matched and then failed in this process.
int64_t rule_failures();

// ---- rows, by the room's files of rules/ -----------------------------------------------------------------------------
std::vector<ScheduleRule> kernel_rules();
std::vector<ScheduleRule> vendor_rules();
std::vector<ScheduleRule> cpu_rules();
std::vector<ScheduleRule> gpu_rules();

}  // namespace tessera::kernel
