// Candidates, their arguments and results for other languages.

#include "runtime/registry.h"
#include "tune/meta_schedule/records.h"

namespace tessera::meta_schedule {
namespace {

Globals records_globals{
    {"meta_schedule.ArgInfoAsJSON", [](const ArgInfo& self) { return as_json(self); }},
    {"meta_schedule.ArgInfoFromJSON", [](const ObjectRef& json) { return arg_from_json(json); }},
    {"meta_schedule.ArgInfoFromPrimFunc", [](const PrimFunc& function) { return args_of(function); }},
    {"meta_schedule.ArgInfoFromModule", [](const IRModule& mod) { return args_of(mod); }},
    {"meta_schedule.TensorInfo",
     [](DataType dtype, const Array<PrimExpr>& shape) {
       return ArgInfo(make(TensorInfoNode{.dtype = dtype, .shape = shape}));
     }},
    {"meta_schedule.TensorInfoShape", [](const TensorInfo& self) { return self->shape; }},
    {"meta_schedule.MeasureCandidate",
     [](const schedule::Schedule& sch, const Array<ArgInfo>& args) {
       return MeasureCandidate(make(MeasureCandidateNode{.sch = sch, .args_info = args}));
     }},
    {"meta_schedule.BuilderInput",
     [](const IRModule& mod, const Target& target, const ObjectRef& params) {
       return Ref<BuilderInputNode>(make(BuilderInputNode{.mod = mod, .target = target, .params = params}));
     }},
    {"meta_schedule.BuilderResult",
     [](const String& path, const String& error) {
       return BuilderResult(make(BuilderResultNode{.artifact_path = path, .error_msg = error}));
     }},
    {"meta_schedule.RunnerInput",
     [](const String& path, const String& device, const Array<ArgInfo>& args) {
       return Ref<RunnerInputNode>(
           make(RunnerInputNode{.artifact_path = path, .device_type = device, .args_info = args}));
     }},
    {"meta_schedule.RunnerResult",
     [](const Array<ObjectRef>& seconds, const String& error) {
       return RunnerResult(make(RunnerResultNode{.run_secs = seconds, .error_msg = error}));
     }},
};

}  // namespace
}  // namespace tessera::meta_schedule
