// Databases and records for other languages.

#include <cstdio>

#include "base/json.h"
#include "ir/structural/equal.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/database/databases.h"

namespace tessera::meta_schedule {

void report_line(const String& path, int64_t number, const std::string& problem) {
  std::fprintf(stderr, "%s:%lld: skipped: %s\n", path.c_str(), static_cast<long long>(number), problem.c_str());
}

namespace {

TuningRecord query(const Database& self, const IRModule& mod, const Target& target, const String& name) {
  return self->methods->query(*self.edit(), mod, target, name);
}

Globals database_globals{
    {"meta_schedule.Workload", make_workload},
    {"meta_schedule.WorkloadAsJSON", [](const Workload& self) { return as_json(self); }},
    {"meta_schedule.WorkloadFromJSON", [](const ObjectRef& json) { return workload_from_json(json); }},
    {"meta_schedule.TuningRecord",
     [](const Trace& trace, const Workload& workload, const Array<ObjectRef>& run_secs, const Target& target,
        const Array<ArgInfo>& args) {
       TuningRecordNode record;
       record.trace = trace;
       record.workload = workload;
       record.run_secs = run_secs;
       record.target = target;
       record.args_info = args;
       return TuningRecord(make(std::move(record)));
     }},
    {"meta_schedule.TuningRecordAsMeasureCandidate",
     [](const TuningRecord& self) {
       Array<ArgInfo> args = self->args_info.defined() ? self->args_info : args_of(self->workload->mod);
       return MeasureCandidate(make(MeasureCandidateNode{.sch = scheduled(self), .args_info = args}));
     }},
    {"meta_schedule.TuningRecordAsJSON", [](const TuningRecord& self) { return as_json(self); }},
    {"meta_schedule.TuningRecordFromJSON",
     [](const ObjectRef& json, const Workload& workload) { return record_from_json(json, workload); }},
    {"meta_schedule.DatabaseHasWorkload",
     [](const Database& self, const IRModule& mod) { return self->methods->has_workload(*self.edit(), mod); }},
    {"meta_schedule.DatabaseCommitWorkload",
     [](const Database& self, const IRModule& mod) { return self->methods->commit_workload(*self.edit(), mod); }},
    {"meta_schedule.DatabaseCommitTuningRecord",
     [](const Database& self, const TuningRecord& record) { self->methods->commit_record(*self.edit(), record); }},
    {"meta_schedule.DatabaseGetTopK", [](const Database& self, const Workload& workload,
                                         int k) { return self->methods->top_k(*self.edit(), workload, k); }},
    {"meta_schedule.DatabaseGetAllTuningRecords",
     [](const Database& self) { return self->methods->all(*self.edit()); }},
    {"meta_schedule.DatabaseSize", [](const Database& self) { return self->methods->size(*self.edit()); }},
    {"meta_schedule.DatabaseQueryTuningRecord", query},
    {"meta_schedule.DatabaseBestRecord",
     [](const Database& self, const IRModule& mod) { return best_record(*self.edit(), mod); }},
    {"meta_schedule.DatabaseQuerySchedule",
     [](const Database& self, const IRModule& mod, const Target& target, const String& name) {
       TuningRecord record = query(self, mod, target, name);
       return record ? scheduled(record) : Schedule();
     }},
    {"meta_schedule.DatabaseLeaveToRules",
     [](const Database& self, const IRModule& mod, bool is_left) {
       std::vector<IRModule>& modules = self.edit()->by_rules;
       std::erase_if(modules, [&](const IRModule& each) { return structural_equal(each, mod); });
       if (is_left) modules.push_back(mod);
     }},
    {"meta_schedule.DatabaseIsLeftToRules",
     [](const Database& self, const IRModule& mod) { return is_left_to_rules(*self, mod); }},
    {"meta_schedule.JSONParse", [](const std::string& text) { return parse_json(text); }},
};

}  // namespace
}  // namespace tessera::meta_schedule
