#include "runtime/registry.h"
#include "tune/meta_schedule/database/databases.h"

namespace tessera::meta_schedule {

void UnionDatabaseNode::unsupported(const char* method) const {
  throw Error(NotImplementedError) << (is_ordered ? "OrderedUnionDatabase" : "UnionDatabase") << " has no " << method
                                   << ": it only answers queries; ask one of its databases";
}

TuningRecord UnionDatabaseNode::query(const IRModule& mod, const Target& target, const String& name) {
  TuningRecord best;
  for (const Database& each : databases) {
    if (is_left_to_rules(*each, mod)) continue;
    TuningRecord found = each->methods->query(*each.edit(), mod, target, name);
    if (found && is_ordered) return found;
    if (found && (!best || mean_seconds(found->run_secs) < mean_seconds(best->run_secs))) best = found;
  }
  return best;
}

void ScheduleFnDatabaseNode::unsupported(const char* method) const {
  throw Error(NotImplementedError) << "ScheduleFnDatabase has no " << method << ": it only answers queries";
}

TuningRecord ScheduleFnDatabaseNode::query(const IRModule& mod, const Target& target, const String&) {
  schedule::Schedule sch = schedule::make_schedule(mod, -1, 0, 0);
  if (!function(sch).to<bool>()) return {};
  TuningRecordNode out;
  out.trace = sch->trace;
  out.workload = make_workload(mod);
  out.target = target;
  return make(std::move(out));
}

namespace {
Globals union_database_globals{
    {"meta_schedule.DatabaseUnionDatabase",
     [](const Array<Database>& databases) {
       UnionDatabaseNode database;
       database.databases = databases;
       return Database(make(std::move(database)));
     }},
    {"meta_schedule.DatabaseOrderedUnionDatabase",
     [](const Array<Database>& databases) {
       OrderedUnionDatabaseNode database;
       database.databases = databases;
       return Database(make(std::move(database)));
     }},
    {"meta_schedule.DatabaseScheduleFnDatabase",
     [](const PackedFunc& function) {
       ScheduleFnDatabaseNode database;
       database.function = function;
       return Database(make(std::move(database)));
     }},
};
}  // namespace
}  // namespace tessera::meta_schedule
