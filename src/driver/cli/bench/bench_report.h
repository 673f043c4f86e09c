#pragma once
// What `tessera bench` measured, and how it is told.

#include <string>
#include <vector>

#include "driver/cli/bench/measure.h"
#include "driver/cli/diff/compare.h"
#include "driver/cli/subject.h"
#include "runtime/archive/npy.h"

namespace tessera::cli {

/// One runtime on so many threads.
struct BenchRow {
  std::string name, version;
  int threads = 1;
  Statistics times;
  double callers_per_second = 0;  // runs in a second of all callers; 0 where it was not measured
};

/// Whether another runtime gives the same answers.
struct Agreement {
  std::string name;
  bool agrees = true;
  std::string text;  // of the output that is furthest off
};

struct BenchReport {
  Subject subject;
  std::string device;
  NamedTensors inputs;
  double first_run_seconds = 0;
  uint64_t compile_peak_bytes = 0, run_peak_bytes = 0;
  int callers = 1;
  std::vector<BenchRow> rows;  // by threads; Tessera is the first of each
  std::vector<Agreement> agreements;
  std::vector<std::pair<std::string, std::string>> missing;  // runtimes that could not be asked, and why
};

void print(const BenchReport& report);
std::string to_json_text(const BenchReport& report);

}  // namespace tessera::cli
