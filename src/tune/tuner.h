#pragma once
// Tuning a model: which kernel is next, measuring, recording, and the proof that what was found is faster.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kernel/record_lines.h"
#include "runtime/archive/files.h"
#include "tune/build.h"
#include "tune/task_search.h"

namespace tessera::tune {

struct TuneOptions {
  int64_t trials = 1000;       // of the whole model, besides one of each kernel as it is; 0: as many as the time allows
  double seconds = 0;          // of searching; 0: as long as the trials take
  int64_t early_stopping = 0;  // trials of a kernel without a better one, after which it is left; 0: a few rounds
  size_t batch = 8;            // candidates that are built together
  size_t threads = 0;          // that build; 0: all
  uint64_t seed = 1;
  RunOptions run;
};

class Tuner;

/// Who watches.
class TuneListener {
 public:
  virtual ~TuneListener() = default;
  /// After each measurement.
  virtual void measured(const Tuner& tuner, size_t task, const Trial& trial) = 0;
  /// A kernel was measured in turns with its own plan: seconds of both.
  virtual void confirmed(const Tuner& tuner, size_t task, double own, double found, bool is_taken) = 0;
  /// True where the user wants the search to end.
  virtual bool is_stopped() = 0;
};

/// A plan that won in turns.
struct Winner {
  size_t task = 0;
  kernel::TuningRecord record;
  double gain = 0;  // seconds of a run of the model
};

class Tuner {
 public:
  Tuner(const std::vector<Task>& tasks, kernel::CompileEnvironment environment, BuildPrograms build,
        CandidateRunner& runner, TuneOptions options);

  /// What earlier runs measured of these kernels on this machine; gives how many measurements those are. Plans that won on other
  /// machines, or with other numbers of threads, are where the search begins.
  size_t resume(const kernel::RecordFile& file);
  void write_to(kernel::RecordWriter* writer) { writer_ = writer; }
  void search(TuneListener& listener);
  /// Measures the best of each kernel in turns with the rule's own plan, and gives those that are faster and right.
  std::vector<Winner> confirm(TuneListener& listener);

  const std::vector<TaskSearch>& tasks() const { return tasks_; }
  const TuneOptions& options() const { return options_; }
  int64_t trials() const { return trials_; }  // measured now, those of kernels as they are left out
  double elapsed() const;
  /// Seconds of a run of the model that tuned kernels take: by their own plans, and by the best.
  double own_seconds() const;
  double best_seconds() const;

 private:
  size_t measure(size_t task, std::vector<Trial> batch, TuneListener& listener);
  size_t next_task() const;
  bool is_over(TuneListener& listener) const;
  std::string target_text(const TaskSearch& search) const;
  kernel::TuningRecord record_of(const TaskSearch& search, const kernel::RecordedPlans& plans) const;
  std::vector<BuildResult> build_all(const TaskSearch& search, const std::vector<PrimFunc>& programs,
                                     const std::vector<std::string>& paths);

  kernel::CompileEnvironment environment_;
  BuildPrograms build_;
  CandidateRunner& runner_;
  TuneOptions options_;
  std::vector<TaskSearch> tasks_;
  kernel::RecordWriter* writer_ = nullptr;
  TemporaryFolder folder_;
  int64_t trials_ = 0, files_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tessera::tune
