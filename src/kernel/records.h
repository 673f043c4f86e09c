#pragma once
// What tuning found: decisions about kernels, by what they compute and where they were measured. They come before those of the rules.

#include <string>
#include <vector>

#include "kernel/environment.h"
#include "relay/expr.h"

namespace tessera::kernel {

/// The decisions about a kernel in their order, each [rule, {knob: value}].
using RecordedPlans = Array<ObjectRef>;
inline String rule_of(const ObjectRef& plan) { return downcast<String>(downcast<Array<ObjectRef>>(plan)[0]); }
inline Map<String, ObjectRef> knobs_of(const ObjectRef& plan) {
  return downcast<Map<String, ObjectRef>>(downcast<Array<ObjectRef>>(plan)[1]);
}

/// Plans by workload, {key: [[rule, {knob: value}], ...]}; or the name of a file of records (record_lines.h), which is read when
/// the context is made.
inline constexpr const char* kRecords = "kernel.records";
/// False: the records that come with the package are not used.
inline constexpr const char* kShippedRecords = "kernel.shipped_records";

/// The CPU and how many of its cores kernels are for: what is fastest on one is not on another.
std::string machine_key(const topi::Machine& machine);
/// What identifies a kernel in records: a hash of what it computes and of the machine.
std::string workload_key(const relay::Function& primitive, const topi::Machine& machine);
/// The same on every machine: what is fast on one is worth a try on another.
std::string computation_key(const relay::Function& primitive);

/// What records say about a kernel: those of the options, else those of the package. Empty where none does.
RecordedPlans recorded_plans(const relay::Function& primitive, const CompileEnvironment& environment);

/// An error where this is no list of plans: unknown rules and knobs, values that no plan has.
void check_plans(const RecordedPlans& plans);

/// The knobs of a plan as they stand in a record.
Map<String, ObjectRef> knob_values(const ObjectRef& knobs);

}  // namespace tessera::kernel
