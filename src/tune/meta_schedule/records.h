#pragma once
// What is built, run and written down: workloads, candidates, their results, records.

#include <string>

#include "ir/module.h"
#include "ir/target/target.h"
#include "schedule/schedule.h"
#include "tir/function.h"

namespace tessera::meta_schedule {

/// What is known of an argument: the JSON form is ["TENSOR", dtype, shape].
struct ArgInfoNode : Object {
  static constexpr NodeInfo info{"meta_schedule.ArgInfo", &Object::info};
  static void fields(auto) {}
};
using ArgInfo = Ref<ArgInfoNode>;

struct TensorInfoNode : ArgInfoNode {
  DataType dtype;
  Array<PrimExpr> shape;
  static constexpr NodeInfo info{"meta_schedule.TensorInfo", &ArgInfoNode::info};
  static void fields(auto f) {
    f("dtype", &TensorInfoNode::dtype);
    f("shape", &TensorInfoNode::shape);
  }
};
using TensorInfo = Ref<TensorInfoNode>;

Array<ArgInfo> args_of(const PrimFunc& function);
/// Those of the one function of the module, or of "main" where there are several.
Array<ArgInfo> args_of(const IRModule& mod);
Array<ObjectRef> as_json(const ArgInfo& arg);
/// A ValueError for anything but the JSON form.
ArgInfo arg_from_json(const ObjectRef& json);

/// A module by what it computes.
struct WorkloadNode : Object {
  IRModule mod{nullptr};
  int64_t shash = 0;
  static constexpr NodeInfo info{"meta_schedule.Workload", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("mod", &WorkloadNode::mod);
    f("shash", &WorkloadNode::shash);
  }
};
using Workload = Ref<WorkloadNode>;
Workload make_workload(const IRModule& mod);
Array<ObjectRef> as_json(const Workload& workload);
Workload workload_from_json(const ObjectRef& json);

struct MeasureCandidateNode : Object {
  schedule::Schedule sch;
  Array<ArgInfo> args_info;
  static constexpr NodeInfo info{"meta_schedule.MeasureCandidate", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("sch", &MeasureCandidateNode::sch);
    f("args_info", &MeasureCandidateNode::args_info);
  }
};
using MeasureCandidate = Ref<MeasureCandidateNode>;

struct BuilderInputNode : Object {
  IRModule mod{nullptr};
  Target target;
  ObjectRef params;  // by name, or empty
  static constexpr NodeInfo info{"meta_schedule.BuilderInput", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("mod", &BuilderInputNode::mod);
    f("target", &BuilderInputNode::target);
    f("params", &BuilderInputNode::params, Optional);
  }
};

/// Where the library is, or what went wrong; the other one is empty.
struct BuilderResultNode : Object {
  String artifact_path{nullptr}, error_msg{nullptr};
  static constexpr NodeInfo info{"meta_schedule.BuilderResult", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("artifact_path", &BuilderResultNode::artifact_path, Optional);
    f("error_msg", &BuilderResultNode::error_msg, Optional);
  }
};
using BuilderResult = Ref<BuilderResultNode>;

struct RunnerInputNode : Object {
  String artifact_path, device_type;
  Array<ArgInfo> args_info;
  static constexpr NodeInfo info{"meta_schedule.RunnerInput", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("artifact_path", &RunnerInputNode::artifact_path);
    f("device_type", &RunnerInputNode::device_type);
    f("args_info", &RunnerInputNode::args_info);
  }
};

/// Seconds of each repeat, or what went wrong.
struct RunnerResultNode : Object {
  Array<ObjectRef> run_secs{nullptr};
  String error_msg{nullptr};
  static constexpr NodeInfo info{"meta_schedule.RunnerResult", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("run_secs", &RunnerResultNode::run_secs, Optional);
    f("error_msg", &RunnerResultNode::error_msg, Optional);
  }
};
using RunnerResult = Ref<RunnerResultNode>;

/// A trace of a workload and how fast the program is that it makes.
struct TuningRecordNode : Object {
  schedule::Trace trace;
  Workload workload;
  Array<ObjectRef> run_secs{nullptr};  // floats; empty where it was never run
  Target target;
  Array<ArgInfo> args_info{nullptr};
  static constexpr NodeInfo info{"meta_schedule.TuningRecord", &Object::info, Role::Identity};
  static void fields(auto f) {
    f("trace", &TuningRecordNode::trace);
    f("workload", &TuningRecordNode::workload);
    f("run_secs", &TuningRecordNode::run_secs, Optional);
    f("target", &TuningRecordNode::target, Optional);
    f("args_info", &TuningRecordNode::args_info, Optional);
  }
};
using TuningRecord = Ref<TuningRecordNode>;

std::vector<double> seconds_of(const Array<ObjectRef>& run_secs);
/// The mean of the runs; infinite where there are none.
double mean_seconds(const Array<ObjectRef>& run_secs);
Array<ObjectRef> as_json(const TuningRecord& record);
/// A ValueError that says what is wrong with the JSON; the trace is tried on the workload.
TuningRecord record_from_json(const ObjectRef& json, const Workload& workload);
/// The workload as the record's trace schedules it.
schedule::Schedule scheduled(const TuningRecord& record);

}  // namespace tessera::meta_schedule
