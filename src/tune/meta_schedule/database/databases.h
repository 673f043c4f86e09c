#pragma once
// Databases: each file of this folder keeps workloads and records in its own way.

#include "tune/meta_schedule/pieces.h"

namespace tessera::meta_schedule {

/// What databases share that know workloads by structural equality.
struct WorkloadTable {
  std::vector<Workload> workloads;
  std::unordered_map<int64_t, std::vector<size_t>> by_hash;

  /// The position of an equal module, or of the same workload; -1.
  int64_t find(const IRModule& mod) const;
  Workload add(const IRModule& mod, bool* is_new);
  size_t add(const Workload& workload);
};

/// Says that line `number` of a file is skipped, and why.
void report_line(const String& path, int64_t number, const std::string& problem);
/// The record of the module that ran fastest; an empty reference where there is none. What databases do by default.
TuningRecord best_record(DatabaseNode& database, const IRModule& mod);
/// The k records of the workload that ran fastest, fastest first; those that never ran are left out.
Array<TuningRecord> fastest(const std::vector<TuningRecord>& records, const Workload& workload, int k);

struct MemoryDatabaseNode : DatabaseNode {
  WorkloadTable table;
  std::vector<TuningRecord> records;
  MemoryDatabaseNode() { methods = &methods_of<MemoryDatabaseNode>; }
  bool has_workload(const IRModule& mod) { return table.find(mod) >= 0; }
  Workload commit_workload(const IRModule& mod) {
    bool is_new;
    return table.add(mod, &is_new);
  }
  void commit_record(const TuningRecord& record) { records.push_back(record); }
  Array<TuningRecord> top_k(const Workload& workload, int k) { return fastest(records, workload, k); }
  Array<TuningRecord> all() { return records; }
  TuningRecord query(const IRModule& mod, const Target&, const String&) { return best_record(*this, mod); }
  int64_t size() { return static_cast<int64_t>(records.size()); }
  static constexpr NodeInfo info{"meta_schedule.MemoryDatabase", &DatabaseNode::info, Role::Identity};
  static void fields(auto) {}
};

/// Two files of JSON values, one a line, that grow. Each line is written at once, so that a run that is killed leaves none
/// half written; lines that cannot be read are reported by their number and skipped.
struct JSONDatabaseNode : DatabaseNode {
  String path_workload, path_tuning_record;
  WorkloadTable table;
  std::vector<int64_t> lines;  // of each workload of the table, its line in the file, from 0
  int64_t line_count = 0;
  std::vector<TuningRecord> records;
  JSONDatabaseNode() { methods = &methods_of<JSONDatabaseNode>; }
  void load(bool allow_missing);
  bool has_workload(const IRModule& mod) { return table.find(mod) >= 0; }
  Workload commit_workload(const IRModule& mod);
  void commit_record(const TuningRecord& record);
  Array<TuningRecord> top_k(const Workload& workload, int k) { return fastest(records, workload, k); }
  Array<TuningRecord> all() { return records; }
  TuningRecord query(const IRModule& mod, const Target&, const String&) { return best_record(*this, mod); }
  int64_t size() { return static_cast<int64_t>(records.size()); }
  static constexpr NodeInfo info{"meta_schedule.JSONDatabase", &DatabaseNode::info, Role::Identity};
  static void fields(auto f) {
    f("path_workload", &JSONDatabaseNode::path_workload);
    f("path_tuning_record", &JSONDatabaseNode::path_tuning_record);
  }
};

/// Asks several databases: the fastest record of all, or that of the first which has one.
struct UnionDatabaseNode : DatabaseNode {
  Array<Database> databases;
  bool is_ordered = false;
  UnionDatabaseNode() { methods = &methods_of<UnionDatabaseNode>; }
  bool has_workload(const IRModule&) { unsupported("has_workload"); }
  Workload commit_workload(const IRModule&) { unsupported("commit_workload"); }
  void commit_record(const TuningRecord&) { unsupported("commit_tuning_record"); }
  Array<TuningRecord> top_k(const Workload&, int) { unsupported("get_top_k"); }
  Array<TuningRecord> all() { unsupported("get_all_tuning_records"); }
  int64_t size() { unsupported("size"); }
  TuningRecord query(const IRModule& mod, const Target& target, const String& name);
  [[noreturn]] void unsupported(const char* method) const;
  static constexpr NodeInfo info{"meta_schedule.UnionDatabase", &DatabaseNode::info, Role::Identity};
  static void fields(auto f) { f("databases", &UnionDatabaseNode::databases); }
};
struct OrderedUnionDatabaseNode : UnionDatabaseNode {
  OrderedUnionDatabaseNode() {
    methods = &methods_of<OrderedUnionDatabaseNode>;
    is_ordered = true;
  }
  static constexpr NodeInfo info{"meta_schedule.OrderedUnionDatabase", &DatabaseNode::info, Role::Identity};
  static void fields(auto f) { f("databases", &OrderedUnionDatabaseNode::databases); }
};

/// A user's function schedules each module, or returns False for one that it does not know.
struct ScheduleFnDatabaseNode : DatabaseNode {
  PackedFunc function;
  ScheduleFnDatabaseNode() { methods = &methods_of<ScheduleFnDatabaseNode>; }
  bool has_workload(const IRModule&) { unsupported("has_workload"); }
  Workload commit_workload(const IRModule&) { unsupported("commit_workload"); }
  void commit_record(const TuningRecord&) { unsupported("commit_tuning_record"); }
  Array<TuningRecord> top_k(const Workload&, int) { unsupported("get_top_k"); }
  Array<TuningRecord> all() { unsupported("get_all_tuning_records"); }
  int64_t size() { unsupported("size"); }
  TuningRecord query(const IRModule& mod, const Target& target, const String& name);
  [[noreturn]] void unsupported(const char* method) const;
  static constexpr NodeInfo info{"meta_schedule.ScheduleFnDatabase", &DatabaseNode::info, Role::Identity};
  static void fields(auto) {}
};

}  // namespace tessera::meta_schedule
