#include <algorithm>
#include <cmath>

#include "ir/structural/equal.h"
#include "runtime/registry.h"
#include "tune/meta_schedule/database/databases.h"

namespace tessera::meta_schedule {

int64_t WorkloadTable::find(const IRModule& mod) const {
  auto found = by_hash.find(structural_hash(mod));
  if (found == by_hash.end()) return -1;
  for (size_t i : found->second)
    if (workloads[i]->mod.same_as(mod) || structural_equal(workloads[i]->mod, mod)) return static_cast<int64_t>(i);
  return -1;
}

size_t WorkloadTable::add(const Workload& workload) {
  by_hash[workload->shash].push_back(workloads.size());
  workloads.push_back(workload);
  return workloads.size() - 1;
}

Workload WorkloadTable::add(const IRModule& mod, bool* is_new) {
  int64_t at = find(mod);
  *is_new = at < 0;
  return workloads[at < 0 ? add(make_workload(mod)) : static_cast<size_t>(at)];
}

Array<TuningRecord> fastest(const std::vector<TuningRecord>& records, const Workload& workload, int k) {
  if (k < 0) throw Error(ValueError) << "top_k is at least 0, not " << k;
  std::vector<std::pair<double, TuningRecord>> found;
  for (const TuningRecord& record : records) {
    bool is_it = record->workload.same_as(workload) ||
                 (record->workload->shash == workload->shash && structural_equal(record->workload->mod, workload->mod));
    double seconds = is_it ? mean_seconds(record->run_secs) : INFINITY;
    if (seconds < 1e9) found.push_back({seconds, record});  // 1e9 stands for a failed run
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Array<TuningRecord> out;
  for (size_t i = 0; i < std::min(found.size(), static_cast<size_t>(k)); ++i) out.push_back(found[i].second);
  return out;
}

bool is_left_to_rules(const DatabaseNode& database, const IRModule& mod) {
  return std::any_of(database.by_rules.begin(), database.by_rules.end(),
                     [&](const IRModule& each) { return structural_equal(each, mod); });
}

TuningRecord best_record(DatabaseNode& database, const IRModule& mod) {
  if (!database.methods->has_workload(database, mod)) return {};
  Array<TuningRecord> best = database.methods->top_k(database, database.methods->commit_workload(database, mod), 1);
  return best.empty() ? TuningRecord() : best[0];
}

namespace {
Globals memory_database_globals{
    {"meta_schedule.DatabaseMemoryDatabase", [] { return Database(make(MemoryDatabaseNode{})); }}};
}  // namespace
}  // namespace tessera::meta_schedule
