#include "driver/tuned_programs.h"

#include "driver/measured_kernels.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/pieces.h"

namespace tessera {
namespace {

using meta_schedule::Database;
using meta_schedule::TuningRecord;

std::vector<Database>& entered() {
  thread_local std::vector<Database> databases;
  return databases;
}

/// The program that the fastest record makes of the module.
PrimFunc tuned_program(const Database& database, const IRModule& mod, const Target& target, const std::string& kernel) {
  if (meta_schedule::is_left_to_rules(*database, mod)) return {};
  TuningRecord record = database->methods->query(*database.edit(), mod, target, String(kernel));
  if (!record) return {};
  schedule::Schedule sch = meta_schedule::scheduled(record);
  return downcast_or_null<PrimFunc>(sch->state.mod().lookup("main"));
}

Globals tuned_programs_globals{
    {"meta_schedule.DatabaseEnter", [](const Database& database) { entered().push_back(database); }},
    {"meta_schedule.DatabaseExit",
     [] {
       if (!entered().empty()) entered().pop_back();
     }},
};

}  // namespace

kernel::CompileEnvironment compile_environment(const Target& target, const Target& host, const PassContext& passes) {
  kernel::CompileEnvironment out = kernel::CompileEnvironment::make(target, host, passes);
  if (passes.flag("relay.backend.use_meta_schedule", false) && !entered().empty())
    out.tuned = [database = entered().back()](const IRModule& mod, const Target& of, const std::string& kernel) {
      return tuned_program(database, mod, of, kernel);
    };
  if (out.measures() && can_measure(target))
    out.seconds = [=](const PrimFunc& program) { return measured_seconds(program, target, host, passes); };
  return out;
}

}  // namespace tessera
