#pragma once
// Files of records: one JSON object a line, appended while tuning.
//
//   {"tessera_record": 1, "state": "trial" | "confirmed", "kernel": "fused_nn_dense", "workload": "0a1b...",
//    "computation": "2c3d...", "target": "llvm ...", "machine": "znver4 avx512 2", "plans": [["matmul", {"rows": 6, ...}]], "seconds": [...], "rule_seconds": 0.0012, "error": 0,
//    "message": ""}
//
// Trials are what was measured; confirmed records won against the rule's own plan when both were measured in turns, and only they
// decide about kernels.

#include <string>
#include <vector>

#include "kernel/records.h"
#include "runtime/archive/files.h"

namespace tessera::kernel {

struct TuningRecord {
  bool is_confirmed = false;
  std::string kernel, workload, target, machine;
  std::string computation;  // of every machine (computation_key); lines of older files have none
  RecordedPlans plans;
  std::vector<double> seconds;
  double rule_seconds = 0;  // by the rule's own plan, in the same turns; of confirmed ones
  int error = 0;            // a number of v0.10's records (tune/measure.h); 0: it ran
  std::string message;
};

std::string to_line(const TuningRecord& record);

struct RecordFile {
  std::vector<TuningRecord> records;
  std::vector<std::string> skipped;  // "line 3: its version is 7, and this is 1"
  /// Of confirmed records, the last of each workload.
  Map<String, ObjectRef> plans() const;
};
/// Lines that are broken, of a newer version or of another tuner are skipped, and told.
RecordFile read_records(std::string_view text);
/// A FileError where it cannot be read, a ValueError where it is larger than any file of records.
RecordFile load_records(const std::string& path);
/// Its confirmed plans; what was skipped is told on stderr.
Map<String, ObjectRef> plans_of_file(const std::string& path);

/// Appends records.
class RecordWriter {
 public:
  explicit RecordWriter(const std::string& path) : file_(path, "tuning records") {}
  void write(const TuningRecord& record);

 private:
  LineFile file_;
};

}  // namespace tessera::kernel
